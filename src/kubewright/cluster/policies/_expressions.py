"""Expressions of policies: their scope, compilation and cost budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kubewright.api.cel import (
    PER_CALL_LIMIT,
    CompileError,
    CostExceeded,
    Declared,
    Environment,
    EvaluationError,
    Program,
    Struct,
    Type,
    compile_expression,
    declare,
    structs_of,
    to_value,
    types,
)
from kubewright.cluster.machinery._failures import unsupported
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["BUDGET", "Budget", "Expression", "OutOfBudget", "Scope", "compiled", "values_of", "with_variables"]

BUDGET: Final = 10_000_000
_NO_AUTHORIZER: Final = "undeclared reference to 'authorizer'"
_VARIABLES: Final = "kubernetes.variables"
OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_ANY: Final = {"x-kubernetes-int-or-string": True}  # any JSON value


def _object(**properties: Any) -> JSONObject:
    return {"type": "object", "properties": properties}


def _map(values: JSONObject) -> JSONObject:
    return {"type": "object", "additionalProperties": values}


_TIME: Final = {"type": "string", "format": "date-time"}
_REQUEST: Final = _object(
    kind=_object(group=_TEXT, version=_TEXT, kind=_TEXT),
    resource=_object(group=_TEXT, version=_TEXT, resource=_TEXT),
    subResource=_TEXT,
    requestKind=_object(group=_TEXT, version=_TEXT, kind=_TEXT),
    requestResource=_object(group=_TEXT, version=_TEXT, resource=_TEXT),
    requestSubResource=_TEXT,
    name=_TEXT,
    namespace=_TEXT,
    operation=_TEXT,
    userInfo=_object(username=_TEXT, uid=_TEXT, groups=_TEXTS, extra=_map(_TEXTS)),
    dryRun={"type": "boolean"},
    options=_ANY,
)
_NAMESPACE: Final = _object(
    metadata=_object(
        name=_TEXT,
        generateName=_TEXT,
        namespace=_TEXT,
        labels=_map(_TEXT),
        annotations=_map(_TEXT),
        UID=_TEXT,
        creationTimestamp=_TIME,
        deletionGracePeriodSeconds={"type": "integer"},
        deletionTimestamp=_TIME,
        generation={"type": "integer"},
        resourceVersion=_TEXT,
        finalizers=_TEXTS,
    ),
    spec=_object(finalizers=_TEXTS),
    status=_object(
        conditions={
            "type": "array",
            "items": _object(status=_TEXT, type=_TEXT, lastTransitionTime=_TIME, message=_TEXT, reason=_TEXT),
        },
        phase=_TEXT,
    ),
)


def _declared(schema: JSONObject, name: str) -> Declared:
    found = declare(schema, name)
    assert found is not None
    _unescape(found)
    return found


def _unescape(declared: Declared) -> None:
    """Restores names that CEL escapes: the server does not escape its own (`request.namespace`)."""
    declared.fields = {name.strip("_"): member for name, member in declared.fields.items()}
    for member in declared.fields.values():
        _unescape(member)


def _shown(schema: JSONObject, declared: Declared, raw: JSONObject) -> Struct:
    """Converts a value of the server to the form that expressions see."""
    known = {name: raw[name] for name in schema["properties"] if raw.get(name) is not None}

    def member(name: str, value: Any) -> Any:
        inner, type_ = schema["properties"][name], declared.fields[name]
        return _shown(inner, type_, value) if inner.get("properties") else to_value(inner, type_, value)

    return Struct(known, member, declared.type)


_REQUEST_TYPE: Final = _declared(_REQUEST, "kubernetes.AdmissionRequest")
_NAMESPACE_TYPE: Final = _declared(_NAMESPACE, "kubernetes.Namespace")


class OutOfBudget(Exception):
    """The expressions of a write exceeded their common cost budget."""


class Budget:
    """The remaining cost of the expressions of one policy."""

    def __init__(self, left: int = BUDGET) -> None:
        self._left = left

    def run(self, program: Program, variables: Mapping[str, Any]) -> Any:
        """Evaluates an expression. Raises `EvaluationError`, or `OutOfBudget` if the budget is exhausted."""
        try:
            value, cost = program.run(variables)
        except EvaluationError as error:
            self._spend(error.cost)
            raise
        except CostExceeded as error:
            self._spend(PER_CALL_LIMIT)
            raise EvaluationError(str(error)) from None
        self._spend(cost)
        return value

    def _spend(self, cost: int) -> None:
        self._left -= cost
        if self._left < 0:
            raise OutOfBudget(OUT_OF_BUDGET)


@dataclass(slots=True)
class Scope:
    """The names that expressions can use.

    `params` exists only if the policy has a `paramKind`. Each variable sees the variables before it. Patch types exist
    only in patches.
    """

    has_params: bool = False
    has_variables: bool = False
    fields: dict[str, Type] | None = None
    patches: bool = False

    def for_patches(self) -> Scope:
        """Returns the same scope for an expression that builds a patch."""
        return replace(self, patches=True)

    @property
    def environment(self) -> Environment:
        """Returns the declared names and their types."""
        variables = {
            "object": types.DYN,
            "oldObject": types.DYN,
            "request": _REQUEST_TYPE.type,
            "namespaceObject": _NAMESPACE_TYPE.type,
        }
        structs = {**structs_of(_REQUEST_TYPE), **structs_of(_NAMESPACE_TYPE)}
        if self.has_params:
            variables["params"] = types.DYN
        if self.has_variables:
            variables["variables"] = types.struct(_VARIABLES)
            structs[_VARIABLES] = self.fields or {}
        return Environment(variables, structs, self.patches)


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression, or its compile error."""

    text: str
    program: Program | None = None
    problem: str = ""


def compiled(text: str, scope: Scope, *results: Type) -> Expression:
    """Compiles an expression whose value must be of one of the types; any type if none is given.

    Raises a 501 for an expression that uses the authorizer.
    """
    try:
        program = compile_expression(text, scope.environment)
    except CompileError as error:
        if _NO_AUTHORIZER in str(error):
            raise unsupported("the authorizer in CEL expressions") from None
        return Expression(text, problem=f"compilation failed: {error}")
    found = program.checked.type
    if results and found not in results:
        names = [_name(result) for result in results]
        wanted = names[0] if len(names) == 1 else f"one of [{' '.join(names)}]"
        return Expression(text, problem=f"must evaluate to {wanted} but got {_name(found)}")
    return Expression(text, program)


def _name(type_: Type) -> str:
    return "null_type" if type_ == types.NULL else str(type_)


def values_of(
    request: JSONObject,
    obj: JSONObject | None,
    old: JSONObject | None,
    namespace: JSONObject | None = None,
    params: JSONObject | None = None,
) -> dict[str, Any]:
    """Returns the values of the names."""
    shown = None if namespace is None else _shown(_NAMESPACE, _NAMESPACE_TYPE, namespace)
    return {
        "object": obj,
        "oldObject": old,
        "request": _shown(_REQUEST, _REQUEST_TYPE, request),
        "namespaceObject": shown,
        "params": params,
    }


def with_variables(values: dict[str, Any], variables: list[tuple[str, Expression]], budget: Budget) -> dict[str, Any]:
    """Returns the values with the variables of a policy, each evaluated on first use."""
    expressions = dict(variables)
    made = dict(values)

    def evaluate(name: str, _: Any) -> Any:
        expression = expressions[name]
        if expression.program is None:
            raise EvaluationError(f'composited variable "{name}" fails to compile: {expression.problem}')
        try:
            return budget.run(expression.program, made)
        except EvaluationError as error:
            raise EvaluationError(f'composited variable "{name}" fails to evaluate: {error}') from None

    made["variables"] = Struct(dict.fromkeys(expressions), evaluate, types.struct(_VARIABLES))
    return made
