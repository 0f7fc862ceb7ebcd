"""Evaluates a checked expression, and counts what it costs while it does.

The tree becomes nested closures once. Costs are counted in the API server's units at the same places, so that an
expression which is stopped there is stopped here: a runaway rule ends with `CostExceeded`, however it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from kubewright.api.cel._checker import Checked
from kubewright.api.cel._declarations import TYPE_NAMES
from kubewright.api.cel._functions import IMPLEMENTATIONS
from kubewright.api.cel._nodes import Call, Fold, Ident, ListNode, Literal, MapNode, Node, Select, StructNode
from kubewright.api.cel._overloads import guarded
from kubewright.api.cel._patches import made_patch
from kubewright.api.cel._spending import BEFORE, call_cost, cost_before, costs_one
from kubewright.api.cel._types import ANY_LIST, DYN, NULL, Type, map_of, optional_of, type_of
from kubewright.api.cel._values import (
    NONE,
    CostExceeded,
    EvaluationError,
    Optional,
    Struct,
    equal,
    lookup,
    no_overload,
    type_of_value,
)

__all__ = ["PER_CALL_LIMIT", "Program"]

PER_CALL_LIMIT: Final = 1_000_000
_LIST_COST: Final = 10
_CHECKING_THEMSELVES: Final = frozenset(
    {"_[_]", "bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint", "type", "dyn"}
)
_CONVERSIONS: Final = frozenset({"bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"})
_MAP_COST: Final = 30
_PASSED_OVER: Final = object()
_STRUCT_COST: Final = 40


class _Run:
    """One evaluation: the variables, and what has been spent."""

    __slots__ = ("cost", "limit", "variables")

    def __init__(self, variables: dict[str, Any], limit: int) -> None:
        self.variables = variables
        self.limit = limit
        self.cost = 0

    def spend(self, cost: int) -> None:
        self.cost += cost
        if self.cost > self.limit:
            raise CostExceeded("operation cancelled: actual cost limit exceeded")


_Step: TypeAlias = Callable[[_Run], Any]


class Program:
    """A checked expression, ready to run. Safe to share: each run has its own state."""

    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self._step = _Compiler(checked).step(checked.syntax.root)

    def run(self, variables: Mapping[str, Any], limit: int = PER_CALL_LIMIT) -> tuple[Any, int]:
        """The value and what it cost. Raises `EvaluationError` (with the `cost` so far) or `CostExceeded`."""
        run = _Run(dict(variables), limit)
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

    def step(self, node: Node) -> _Step:
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

    def _ident(self, name: str) -> _Step:
        constant = _TYPES.get(name)

        def ident(run: _Run) -> Any:
            run.cost += 1  # calls and loops look at the limit: that is often enough
            try:
                value = run.variables[name]
            except KeyError:
                if constant is not None:
                    return constant
                raise EvaluationError(f"no such attribute(s): {name}") from None
            if value.__class__ is EvaluationError:  # an accumulator keeps what went wrong until it matters
                raise value
            return value

        return ident

    def _select(self, node: Select) -> _Step:
        if node.id in self._checked.names:
            return self._ident(self._checked.names[node.id])
        operand, field = self.step(node.operand), node.field
        if node.is_test:
            return lambda run: _has(operand(run), field)

        def select(run: _Run) -> Any:
            value = operand(run)
            run.cost += 1
            return _field(value, field)

        return select

    # Calls

    def _call(self, node: Call) -> _Step:
        function = self._checked.functions.get(node.id, node.function)
        member = node.target is not None and node.id not in self._checked.functions
        nodes = [node.target, *node.arguments] if member else node.arguments
        steps = [self.step(argument) for argument in nodes if argument is not None]
        special = _SPECIAL.get(function)
        if special is not None:
            return special(*steps)
        overloads = self._checked.overloads.get(node.id, [])
        overload = overloads[0] if len(overloads) == 1 else ""
        implementation = IMPLEMENTATIONS[function]
        untyped = any(self._is_untyped(argument) for argument in nodes if argument is not None)
        if untyped and function not in _CHECKING_THEMSELVES:
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

            def quick(run: _Run) -> Any:  # most operators
                result = implementation(first(run), second(run))
                run.spend(1)
                return result

            return quick

        if function in BEFORE:

            def weighed(run: _Run) -> Any:
                values = [step(run) for step in steps]
                checked(*values)
                run.spend(cost_before(function, values) or 0)
                return implementation(*values)

            checked = guarded(function, lambda *values: None, is_member=member)
            return weighed

        def call(run: _Run) -> Any:
            values = [step(run) for step in steps]
            result = implementation(*values)
            if not free:
                run.spend(call_cost(function, overload, values, result))
            return result

        return call

    def _is_untyped(self, node: Node) -> bool:
        """Whether its type, or that of its elements, is known when it is evaluated only."""
        type_ = self._checked.types[node.id]
        return type_.is_dyn or (type_.kind == "list" and type_.parameters[0].is_dyn)

    # What is built

    def _list(self, node: ListNode) -> _Step:
        if _is_constant(node):
            return lambda run: [element.value for element in node.elements if isinstance(element, Literal)]
        steps = [self._member(element, number in node.optional) for number, element in enumerate(node.elements)]

        def build(run: _Run) -> list[Any]:
            made = [value for step in steps if (value := step(run)) is not _PASSED_OVER]
            run.spend(_LIST_COST)
            return made

        return build

    def _map(self, node: MapNode) -> _Step:
        steps = []
        for entry in node.entries:
            assert not isinstance(entry.key, str)
            steps.append((self.step(entry.key), self._member(entry.value, entry.is_optional)))

        def build(run: _Run) -> dict[Any, Any]:
            made: dict[Any, Any] = {}
            for key, step in steps:
                name, value = key(run), step(run)
                if value is _PASSED_OVER:
                    continue
                if isinstance(name, float | list | dict) or name is None:
                    raise EvaluationError("unsupported key type")
                made[name] = value
            run.spend(_MAP_COST)
            return made

        return build

    def _struct(self, node: StructNode) -> _Step:
        type_ = self._checked.types[node.id]
        steps = [(str(entry.key), self._member(entry.value, entry.is_optional)) for entry in node.entries]

        def build(run: _Run) -> Struct:
            fields = {name: value for name, step in steps if (value := step(run)) is not _PASSED_OVER}
            run.spend(_STRUCT_COST)
            return made_patch(type_, fields)

        return build

    def _member(self, node: Node, is_optional: bool) -> _Step:
        """The value of what stands in a list, map or struct; `_PASSED_OVER` where nothing is behind its `?`."""
        step = self.step(node)
        if not is_optional:
            return step

        def take(run: _Run) -> Any:
            value = step(run)
            if not isinstance(value, Optional):
                raise no_overload()
            return value.value if value.is_there else _PASSED_OVER

        return take

    def _fold(self, node: Fold) -> _Step:
        over, initial = self.step(node.range), self.step(node.initial)
        condition, step, result = self.step(node.condition), self.step(node.step), self.step(node.result)
        names = [name for name in (node.accumulator, node.variable, node.second_variable) if name]

        def fold(run: _Run) -> Any:
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
    """Whether it is a list of constants: the server makes it once, and then it costs nothing."""
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


def _field(value: Any, field: str) -> Any:
    if isinstance(value, Optional):
        return lookup(value, field)
    if isinstance(value, dict):
        if field not in value:
            raise EvaluationError(f"no such key: {field}")
        return value[field]
    if isinstance(value, Struct):
        return value[field]
    raise EvaluationError(f"no such key: {field}")


def _has(value: Any, field: str) -> bool:
    if isinstance(value, Optional):
        return bool(value.is_there and _has(value.value, field))
    return isinstance(value, dict | Struct) and field in value


# Operators that do not evaluate all of their operands, or not with their errors


def _conditional(condition: _Step, then: _Step, otherwise: _Step) -> _Step:
    def choose(run: _Run) -> Any:
        chosen = condition(run)
        if not isinstance(chosen, bool):
            raise no_overload()
        return then(run) if chosen else otherwise(run)

    return choose


def _logical(*, decisive: bool) -> Callable[[_Step, _Step], _Step]:
    """`&&` and `||`: one decisive operand is enough, even when the other one fails."""

    def make(left: _Step, right: _Step) -> _Step:
        def decide(run: _Run) -> bool:
            failure: EvaluationError | None = None
            for side in (left, right):
                try:
                    value = side(run)
                except EvaluationError as error:
                    failure = failure or error
                    continue
                if value is decisive:
                    return bool(decisive)
                if not isinstance(value, bool):
                    failure = failure or no_overload()
            if failure is not None:
                raise failure
            return not decisive

        return decide

    return make


def _not_strictly_false(operand: _Step) -> _Step:
    def check(run: _Run) -> bool:
        try:
            return bool(operand(run) is not False)
        except EvaluationError:
            return True
        finally:
            run.spend(1)

    return check


def _equals(*, wanted: bool) -> Callable[[_Step, _Step], _Step]:
    function, overload = ("_==_", "equals") if wanted else ("_!=_", "not_equals")

    def make(left: _Step, right: _Step) -> _Step:
        def check(run: _Run) -> bool:
            one, other = left(run), right(run)
            run.spend(call_cost(function, overload, [one, other], wanted))
            return equal(one, other) is wanted

        return check

    return make


def _optional_select(operand: _Step, field: _Step) -> _Step:
    def select(run: _Run) -> Optional:
        value, name = operand(run), field(run)
        run.spend(1)
        if isinstance(value, Optional):
            if not value.is_there:
                return NONE
            value = value.value
        return Optional(_field(value, name)) if _has(value, name) else NONE

    return select


def _optional_index(operand: _Step, key: _Step) -> _Step:
    def index(run: _Run) -> Any:
        value, place = operand(run), key(run)
        run.spend(1)
        return lookup(value if isinstance(value, Optional) else Optional(value), place)

    return index


_SPECIAL: Final[dict[str, Callable[..., _Step]]] = {
    "_?_:_": _conditional,
    "_&&_": _logical(decisive=False),
    "_||_": _logical(decisive=True),
    "@not_strictly_false": _not_strictly_false,
    "_==_": _equals(wanted=True),
    "_!=_": _equals(wanted=False),
    "_?._": _optional_select,
    "_[?_]": _optional_index,
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
