"""The rules of a schema (`x-kubernetes-validations`): compiled once, and evaluated for each object.

`compile_node` compiles the rules of one schema node, for checks of definitions. `Rules` compiles all rules of a schema.
Its `check` returns the rules that an object violates, with the API server's paths, values and messages, and separately
those that it may violate because the value has not changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from kubewright.api.cel._checker import Environment
from kubewright.api.cel._compile import compile_expression
from kubewright.api.cel._correlation import Correlated
from kubewright.api.cel._estimates import estimate
from kubewright.api.cel._field_paths import PathProblem, field_path
from kubewright.api.cel._interpreter import PER_CALL_LIMIT, Program
from kubewright.api.cel._issues import CompileError
from kubewright.api.cel._presence import has_rules
from kubewright.api.cel._schemas import MAX_REQUEST, Declared, declare, escape, structs_of, to_value, with_metadata
from kubewright.api.cel._types import BOOL, STRING, optional_of
from kubewright.api.cel._values import NONE, CostExceeded, EvaluationError, Optional

__all__ = ["BUDGET", "OMITTED", "Broken", "CompiledRule", "Outcome", "Problem", "Rules", "compile_node"]

BUDGET: Final = 10_000_000
"""The limit of the cost of all rules of an object."""
OMITTED: Final = object()
"""Replaces a value that messages do not show."""
_LONGEST_MESSAGE: Final = 5 * 1024

Reason: TypeAlias = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"]


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that an object violates. `path` is empty for the object itself."""

    reason: Reason
    path: str
    value: Any
    detail: str


@dataclass(slots=True)
class Outcome:
    """The result of a check. `tolerated` are violations by unchanged values."""

    broken: list[Broken] = field(default_factory=list)
    tolerated: list[Broken] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Problem:
    """A rule, or the expression of its message, that cannot be compiled. `path` is empty for the object itself."""

    path: str
    expression: str
    detail: str


@dataclass(slots=True)
class CompiledRule:
    """One rule. `problem` and `message_problem` are the compile errors of the rule and of its message."""

    raw: dict[str, Any]
    program: Program | None = None
    message: Program | None = None
    problem: str = ""
    message_problem: str = ""
    uses_old: bool = False
    cost: int = 0
    message_cost: int = 0
    cardinality: int = 1
    """How often the node of the rule can occur in one request, at most."""
    field_path: str = ""

    @property
    def name(self) -> str:
        """The name of the rule in errors."""
        return (self.raw.get("message") or "").strip() or self.raw["rule"].strip()


def compile_node(schema: dict[str, Any], declared: Declared) -> list[CompiledRule]:
    """Compiles the rules of one schema node."""
    structs = structs_of(declared)
    optional = Environment({"self": declared.type, "oldSelf": optional_of(declared.type)}, structs)
    plain = Environment({"self": declared.type, "oldSelf": declared.type}, structs)
    made = []
    for raw in schema.get("x-kubernetes-validations") or ():
        rule = CompiledRule(raw, cardinality=MAX_REQUEST // (declared.smallest + 1))
        made.append(rule)
        if raw.get("rule", "").strip():
            _compile(rule, schema, declared, optional if raw.get("optionalOldSelf") else plain)
    return made


def _compile(rule: CompiledRule, schema: dict[str, Any], declared: Declared, environment: Environment) -> None:
    try:
        program = compile_expression(rule.raw["rule"], environment)
    except CompileError as error:
        rule.problem = f"compilation failed: {error}"
        return
    if program.checked.type != BOOL:
        rule.problem = "cel expression must evaluate to a bool"
        return
    rule.program = program
    rule.uses_old = program.checked.uses("oldSelf")
    rule.cost = estimate(program.checked, declared)
    if text := rule.raw.get("messageExpression"):
        _compile_message(rule, text, environment, declared)
    if path := rule.raw.get("fieldPath"):
        try:
            rule.field_path = field_path(path, schema)
        except PathProblem:
            rule.field_path = ""


def _compile_message(rule: CompiledRule, text: str, environment: Environment, declared: Declared) -> None:
    try:
        message = compile_expression(text, environment)
    except CompileError as error:
        rule.message_problem = f"messageExpression compilation failed: {error}"
        return
    if message.checked.type != STRING:
        rule.message_problem = "messageExpression must evaluate to a string"
        return
    rule.message = message
    rule.message_cost = estimate(message.checked, declared)


# The tree of rules


@dataclass(slots=True)
class _Node:
    schema: dict[str, Any]
    declared: Declared
    rules: list[CompiledRule]
    is_whole_object: bool
    items: _Node | None = None
    members: _Node | None = None
    properties: dict[str, _Node] = field(default_factory=dict)
    all_of: list[_Node] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.rules or self.items or self.members or self.properties or self.all_of)

    def problems(self, path: str) -> Iterator[Problem]:
        for rule in self.rules:
            if rule.problem:
                yield Problem(path, rule.raw["rule"], rule.problem)
            if rule.message_problem:
                yield Problem(path, rule.raw["messageExpression"], rule.message_problem)
        for branch in self.all_of:
            yield from branch.problems(path)
        for element in (self.items, self.members):
            if element is not None:
                yield from element.problems(f"{path}[*]")
        for name, member in self.properties.items():
            yield from member.problems(f"{path}.{name}" if path else name)


def _tree(
    rules: dict[str, Any], schema: dict[str, Any], declared: Declared | None, *, is_whole_object: bool
) -> _Node | None:
    """Returns the tree of the rules in `rules` (the schema, or a branch of its `allOf`) for values of `schema`."""
    if declared is None:
        return None
    node = _Node(
        schema,
        declared,
        compile_node({**schema, "x-kubernetes-validations": rules.get("x-kubernetes-validations")}, declared),
        is_whole_object,
    )

    def below(part: Any, own: Any, declared: Declared | None) -> _Node | None:
        if not isinstance(part, dict) or not isinstance(own, dict):
            return None
        return _tree(part, own, declared, is_whole_object=bool(own.get("x-kubernetes-embedded-resource")))

    node.items = below(rules.get("items"), schema.get("items"), declared.element)
    node.members = below(rules.get("additionalProperties"), schema.get("additionalProperties"), declared.element)
    known = schema.get("properties") or {}
    for name, part in (rules.get("properties") or {}).items():
        escaped = escape(name)
        own = known.get(name)
        if own is None:
            continue
        member = declared.fields.get(escaped) if escaped is not None else declare(own, "selfType")
        if made := below(part, own, member):
            node.properties[name] = made
    for branch in rules.get("allOf") or ():
        if made := _tree(branch, schema, declared, is_whole_object=is_whole_object):
            node.all_of.append(made)
    return node or None


class Rules:
    """The rules of the schema of a kind, or of a part of one (`is_whole_object=False`)."""

    def __init__(self, schema: dict[str, Any], *, is_whole_object: bool = True) -> None:
        declared = declare(schema, "selfType", is_whole_object=is_whole_object)
        self._schema = schema
        self._root: _Node | None = None
        if has_rules(schema):
            self._root = _tree(schema, schema, declared, is_whole_object=is_whole_object)

    def __bool__(self) -> bool:
        return self._root is not None

    def problems(self) -> list[Problem]:
        """Returns the rules that do not compile, for which the server rejects the definition."""
        return list(self._root.problems("")) if self._root is not None else []

    def check(self, obj: Any, old: Any = None, *, is_update: bool = False) -> Outcome:
        """Returns the rules that an object violates. With `is_update`, compares it with the old object."""
        run = _Run()
        if self._root is not None:
            current = Correlated(self._schema, obj, old) if is_update else None
            run.visit(self._root, "", obj, old if is_update else None, current, None)
        return run.outcome


class _OutOfBudget(Exception):
    """The budget is spent, so no other rule is evaluated."""


class _Run:
    def __init__(self) -> None:
        self.outcome = Outcome()
        self._left = BUDGET

    def visit(
        self,
        node: _Node,
        path: str,
        obj: Any,
        old: Any,
        current: Correlated | None,
        parent: Correlated | None,
    ) -> None:
        try:
            self._visit(node, path, obj, old, current, parent)
        except _OutOfBudget:
            return

    def _visit(
        self, node: _Node, path: str, obj: Any, old: Any, current: Correlated | None, parent: Correlated | None
    ) -> None:
        if obj is None:
            return
        if node.rules:
            self._expressions(node, path, obj, old, current, parent)
        for branch in node.all_of:
            self._visit(branch, path, obj, old, None, parent)
        if isinstance(obj, list):
            self._list(node, path, obj, old, current, parent)
        elif isinstance(obj, dict):
            self._members(node, path, obj, old, current, parent)

    def _list(
        self, node: _Node, path: str, obj: list[Any], old: Any, current: Correlated | None, parent: Correlated | None
    ) -> None:
        if node.items is None:
            return
        before = Correlated(node.schema, obj, old)
        for place, element in enumerate(obj):
            earlier = before.index(place)
            below = (current.index(place), current) if current is not None else (None, parent)
            self._visit(node.items, f"{path}[{place}]", element, earlier.old if earlier else None, *below)

    def _members(
        self,
        node: _Node,
        path: str,
        obj: dict[str, Any],
        old: Any,
        current: Correlated | None,
        parent: Correlated | None,
    ) -> None:
        before = old if isinstance(old, dict) else {}
        for name, member in obj.items():
            found = node.properties.get(name)
            place = f"{path}.{name}" if path else name
            if found is None and node.members is not None:
                found, place = node.members, f"{path}[{name}]"
            if found is None:
                continue
            below: tuple[Correlated | None, Correlated | None] = (None, parent)
            if current is not None:
                # These two never differ: both objects are of the same version.
                hidden = parent is None and name in ("apiVersion", "kind")
                below = (None, None) if hidden else (current.key(name), current)
            self._visit(found, place, member, before.get(name), *below)

    # Evaluating

    def _expressions(
        self, node: _Node, path: str, obj: Any, old: Any, current: Correlated | None, parent: Correlated | None
    ) -> None:
        schema = with_metadata(node.schema) if node.is_whole_object else node.schema
        kind = schema.get("type", "")
        nearest = current if current is not None else parent
        unchanged = nearest is not None and nearest.is_unchanged
        variables: dict[str, Any] = {}
        earlier: Any = None
        for rule in node.rules:
            optional = bool(rule.raw.get("optionalOldSelf"))
            if rule.program is None or (rule.uses_old and old is None and not optional):
                continue
            try:
                if not variables:
                    variables = {"self": to_value(schema, node.declared, obj)}
                    earlier = None if old is None else to_value(schema, node.declared, old)
                before = (NONE if old is None else Optional(earlier)) if optional else earlier
                value = self._paid(rule.program, {**variables, "oldSelf": before}, path, kind, rule)
            except EvaluationError as error:
                self._failed(error, path, kind, rule)
                continue
            if value is True:
                continue
            broken = self._broken(rule, path, kind, obj, {**variables, "oldSelf": before})
            if unchanged and not rule.uses_old:
                self.outcome.tolerated.append(broken)
            else:
                self.outcome.broken.append(broken)

    def _paid(self, program: Program, variables: dict[str, Any], path: str, kind: str, rule: CompiledRule) -> Any:
        try:
            value, cost = program.run(variables, min(PER_CALL_LIMIT, max(self._left, 0)))
        except EvaluationError as error:
            self._left -= error.cost
            raise
        except CostExceeded as error:
            detail = "validation failed due to running out of cost budget, no further validation rules will be run"
            if self._left >= PER_CALL_LIMIT:
                why = "no further validation rules will be run due to call cost exceeds limit for rule"
                detail = f"'{error}': {why}: {rule.name}"
            self.outcome.broken.append(Broken("FieldValueInvalid", path, kind, detail))
            raise _OutOfBudget from None
        self._left -= cost
        return value

    def _failed(self, error: EvaluationError, path: str, kind: str, rule: CompiledRule) -> None:
        text = str(error)
        if text.startswith("no such overload"):
            why = "call arguments did not match a supported operator, function or macro signature for rule"
            detail = f"'{text}': {why}: {rule.name}"
        else:
            detail = f"{text} evaluating rule: {rule.name}"
        self.outcome.broken.append(Broken("FieldValueInvalid", path, kind, detail))

    def _broken(self, rule: CompiledRule, path: str, kind: str, obj: Any, variables: dict[str, Any]) -> Broken:
        message = self._message(rule, path, kind, variables)
        detail = message or (rule.raw.get("message") or "").strip() or f"failed rule: {rule.name}"
        if rule.field_path:
            path = f"{path}.{rule.field_path}" if path else rule.field_path
        return Broken(
            rule.raw.get("reason") or "FieldValueInvalid", path, OMITTED if kind in ("object", "array") else obj, detail
        )

    def _message(self, rule: CompiledRule, path: str, kind: str, variables: dict[str, Any]) -> str:
        """Returns the result of the message expression, if it is a valid message."""
        if rule.message is None:
            return ""
        try:
            text = str(self._paid(rule.message, variables, path, kind, rule)).strip()
        except EvaluationError:
            return ""
        return text if len(text.encode()) <= _LONGEST_MESSAGE and "\n" not in text else ""
