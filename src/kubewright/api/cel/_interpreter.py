"""Evaluates a checked expression and counts its cost.

The tree is compiled into nested closures once. Costs are counted in the API server's units and at the same places, so
an expression that the server stops is stopped here too: it raises `CostExceeded`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubewright.api.cel._checker import Checked
from kubewright.api.cel._declarations import TYPE_NAMES
from kubewright.api.cel._nodes import Call, Fold, Ident, ListNode, Literal, MapNode, Node, Select, StructNode
from kubewright.api.cel._operators import LAZY_OPERATORS, Run, Step, get_field, has_field
from kubewright.api.cel._overloads import guarded
from kubewright.api.cel._patches import made_patch
from kubewright.api.cel._spending import BEFORE, call_cost, cost_before, costs_one
from kubewright.api.cel._types import ANY_LIST, DYN, NULL, Type, map_of, optional_of, type_of
from kubewright.api.cel._values import (
    CostExceeded,
    EvaluationError,
    Optional,
    Struct,
    no_overload,
    type_of_value,
)
from kubewright.api.cel.functions import IMPLEMENTATIONS

__all__ = ["PER_CALL_LIMIT", "Program"]

PER_CALL_LIMIT: Final = 1_000_000
_LIST_COST: Final = 10
_CHECK_ARGUMENTS: Final = frozenset(
    {"_[_]", "bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint", "type", "dyn"}
)
_CONVERSIONS: Final = frozenset({"bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"})
_MAP_COST: Final = 30
_OMITTED: Final = object()
_STRUCT_COST: Final = 40


class Program:
    """A checked expression, ready to run. Safe to share: each run has its own state."""

    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self._step = _Compiler(checked).step(checked.syntax.root)

    def run(self, variables: Mapping[str, Any], limit: int = PER_CALL_LIMIT) -> tuple[Any, int]:
        """Returns the value and its cost. Raises `EvaluationError` (with the `cost` so far) or `CostExceeded`."""
        run = Run(dict(variables), limit)
        try:
            return self._step(run), run.cost
        except EvaluationError as error:
            error.cost = run.cost
            raise
        except RecursionError:
            raise CostExceeded("operation cancelled: the expression is nested too deeply") from None


class _Compiler:
    def __init__(self, checked: Checked) -> None:
        self._checked = checked

    def step(self, node: Node) -> Step:
        match node:
            case Literal(value=value):
                return lambda run: value
            case Ident():
                return self._ident(self._checked.names.get(node.id, node.name))
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListNode():
                return self._list(node)
            case MapNode():
                return self._map(node)
            case StructNode():
                return self._struct(node)
            case Fold():
                return self._fold(node)

    # Names

    def _ident(self, name: str) -> Step:
        constant = _TYPES.get(name)

        def ident(run: Run) -> Any:
            run.cost += 1  # calls and loops check the limit often enough
            try:
                value = run.variables[name]
            except KeyError:
                if constant is not None:
                    return constant
                raise EvaluationError(f"no such attribute(s): {name}") from None
            if value.__class__ is EvaluationError:  # an accumulator keeps an error until its value is used
                raise value
            return value

        return ident

    def _select(self, node: Select) -> Step:
        if node.id in self._checked.names:
            return self._ident(self._checked.names[node.id])
        operand, field = self.step(node.operand), node.field
        if node.is_test:
            return lambda run: has_field(operand(run), field)

        def select(run: Run) -> Any:
            value = operand(run)
            run.cost += 1
            return get_field(value, field)

        return select

    # Calls

    def _call(self, node: Call) -> Step:
        function = self._checked.functions.get(node.id, node.function)
        member = node.target is not None and node.id not in self._checked.functions
        nodes = [node.target, *node.arguments] if member else node.arguments
        steps = [self.step(argument) for argument in nodes if argument is not None]
        special = LAZY_OPERATORS.get(function)
        if special is not None:
            return special(*steps)
        overloads = self._checked.overloads.get(node.id, [])
        overload = overloads[0] if len(overloads) == 1 else ""
        implementation = IMPLEMENTATIONS[function]
        untyped = any(self._is_untyped(argument) for argument in nodes if argument is not None)
        if untyped and function not in _CHECK_ARGUMENTS:
            implementation = guarded(function, implementation, is_member=member)
        if function in _CONVERSIONS and isinstance(node.arguments[0], Literal):
            try:  # as the server does, once
                constant = implementation(node.arguments[0].value)
            except EvaluationError:
                pass
            else:
                return lambda run: constant
        free = function == "@in" and _is_constant(nodes[1])
        if costs_one(function, overload) and len(steps) == 2:
            first, second = steps

            def quick(run: Run) -> Any:  # most operators
                result = implementation(first(run), second(run))
                run.spend(1)
                return result

            return quick

        if function in BEFORE:

            def weighed(run: Run) -> Any:
                values = [step(run) for step in steps]
                checked(*values)
                run.spend(cost_before(function, values) or 0)
                return implementation(*values)

            checked = guarded(function, lambda *values: None, is_member=member)
            return weighed

        def call(run: Run) -> Any:
            values = [step(run) for step in steps]
            result = implementation(*values)
            if not free:
                run.spend(call_cost(function, overload, values, result))
            return result

        return call

    def _is_untyped(self, node: Node) -> bool:
        """Whether the type, or the type of the elements, is known only at evaluation."""
        type_ = self._checked.types[node.id]
        return type_.is_dyn or (type_.kind == "list" and type_.parameters[0].is_dyn)

    # Lists, maps and structs

    def _list(self, node: ListNode) -> Step:
        if _is_constant(node):
            return lambda run: [element.value for element in node.elements if isinstance(element, Literal)]
        steps = [self._member(element, number in node.optional) for number, element in enumerate(node.elements)]

        def build(run: Run) -> list[Any]:
            made = [value for step in steps if (value := step(run)) is not _OMITTED]
            run.spend(_LIST_COST)
            return made

        return build

    def _map(self, node: MapNode) -> Step:
        steps = []
        for entry in node.entries:
            assert not isinstance(entry.key, str)
            steps.append((self.step(entry.key), self._member(entry.value, entry.is_optional)))

        def build(run: Run) -> dict[Any, Any]:
            made: dict[Any, Any] = {}
            for key, step in steps:
                name, value = key(run), step(run)
                if value is _OMITTED:
                    continue
                if isinstance(name, float | list | dict) or name is None:
                    raise EvaluationError("unsupported key type")
                made[name] = value
            run.spend(_MAP_COST)
            return made

        return build

    def _struct(self, node: StructNode) -> Step:
        type_ = self._checked.types[node.id]
        steps = [(str(entry.key), self._member(entry.value, entry.is_optional)) for entry in node.entries]

        def build(run: Run) -> Struct:
            fields = {name: value for name, step in steps if (value := step(run)) is not _OMITTED}
            run.spend(_STRUCT_COST)
            return made_patch(type_, fields)

        return build

    def _member(self, node: Node, is_optional: bool) -> Step:
        """Returns the step for an element of a list, map or struct; it yields `_OMITTED` for an empty optional."""
        step = self.step(node)
        if not is_optional:
            return step

        def take(run: Run) -> Any:
            value = step(run)
            if not isinstance(value, Optional):
                raise no_overload()
            return value.value if value.is_there else _OMITTED

        return take

    def _fold(self, node: Fold) -> Step:
        over, initial = self.step(node.range), self.step(node.initial)
        condition, step, result = self.step(node.condition), self.step(node.step), self.step(node.result)
        names = [name for name in (node.accumulator, node.variable, node.second_variable) if name]

        def fold(run: Run) -> Any:
            elements = _elements(over(run), two=bool(node.second_variable))
            kept = {name: run.variables[name] for name in names if name in run.variables}
            variables = run.variables
            try:
                accumulated = initial(run)
                for first, second in elements:
                    variables[node.accumulator] = accumulated
                    variables[node.variable] = first
                    if node.second_variable:
                        variables[node.second_variable] = second
                    if condition(run) is not True:
                        break
                    try:
                        accumulated = step(run)
                    except EvaluationError as error:
                        accumulated = error
                variables[node.accumulator] = accumulated
                return result(run)
            finally:
                for name in names:
                    variables.pop(name, None)
                variables.update(kept)

        return fold


def _is_constant(node: Node | None) -> bool:
    """Whether the node is a list of constants: the server builds it once, and it costs nothing."""
    return isinstance(node, ListNode) and all(isinstance(element, Literal) for element in node.elements)


def _elements(over: Any, *, two: bool) -> list[tuple[Any, Any]]:
    match over:
        case list():
            return list(enumerate(over)) if two else [(element, None) for element in over]
        case dict() | Struct():
            return [(key, over[key] if two else None) for key in over]
        case _:
            kind = f"types.{_GO_TYPES.get(type_of_value(over).name, 'Val')}"
            if two:
                raise EvaluationError(f"unsupported comprehension range type: {kind}")
            raise EvaluationError(f"got '{kind}', expected iterable type")


_GO_TYPES: Final = {
    "bool": "Bool",
    "bytes": "Bytes",
    "double": "Double",
    "duration": "Duration",
    "int": "Int",
    "null": "Null",
    "string": "String",
    "timestamp": "Timestamp",
    "uint": "Uint",
}

_TYPES: Final[dict[str, Type]] = {
    **{name: type_ for name, type_ in TYPE_NAMES.items() if name.islower()},
    "list": ANY_LIST,
    "map": map_of(DYN, DYN),
    "null_type": NULL,
    "type": type_of(DYN),
    "optional_type": optional_of(DYN),
    "net.IP": TYPE_NAMES["IP"],
    "net.CIDR": TYPE_NAMES["CIDR"],
    "google.protobuf.Timestamp": TYPE_NAMES["timestamp"],
    "google.protobuf.Duration": TYPE_NAMES["duration"],
}
