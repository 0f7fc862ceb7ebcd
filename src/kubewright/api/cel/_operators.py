"""The state of one evaluation, and the operators that do not evaluate all of their operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from kubewright.api.cel._spending import call_cost
from kubewright.api.cel._values import (
    NONE,
    CostExceeded,
    EvaluationError,
    Optional,
    Struct,
    equal,
    lookup,
    no_overload,
)

__all__ = ["LAZY_OPERATORS", "Run", "Step", "get_field", "has_field"]


class Run:
    """One evaluation: its variables and its cost so far."""

    __slots__ = ("cost", "limit", "variables")

    def __init__(self, variables: dict[str, Any], limit: int) -> None:
        self.variables = variables
        self.limit = limit
        self.cost = 0

    def spend(self, cost: int) -> None:
        """Adds a cost. Raises `CostExceeded` above the limit."""
        self.cost += cost
        if self.cost > self.limit:
            raise CostExceeded("operation cancelled: actual cost limit exceeded")


Step: TypeAlias = Callable[[Run], Any]


def get_field(value: Any, field: str) -> Any:
    """Returns a field of a map, struct or optional. Raises EvaluationError if it is absent."""
    if isinstance(value, Optional):
        return lookup(value, field)
    if isinstance(value, dict):
        if field not in value:
            raise EvaluationError(f"no such key: {field}")
        return value[field]
    if isinstance(value, Struct):
        return value[field]
    raise EvaluationError(f"no such key: {field}")


def has_field(value: Any, field: str) -> bool:
    """Whether a value has a field: the macro `has`."""
    if isinstance(value, Optional):
        return bool(value.is_there and has_field(value.value, field))
    return isinstance(value, dict | Struct) and field in value


def _conditional(condition: Step, then: Step, otherwise: Step) -> Step:
    def choose(run: Run) -> Any:
        chosen = condition(run)
        if not isinstance(chosen, bool):
            raise no_overload()
        return then(run) if chosen else otherwise(run)

    return choose


def _logical(*, decisive: bool) -> Callable[[Step, Step], Step]:
    """Returns the operator `&&` or `||`. One decisive operand is enough, even if the other one fails."""

    def make(left: Step, right: Step) -> Step:
        def decide(run: Run) -> bool:
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


def _not_strictly_false(operand: Step) -> Step:
    def check(run: Run) -> bool:
        try:
            return bool(operand(run) is not False)
        except EvaluationError:
            return True
        finally:
            run.spend(1)

    return check


def _equals(*, wanted: bool) -> Callable[[Step, Step], Step]:
    function, overload = ("_==_", "equals") if wanted else ("_!=_", "not_equals")

    def make(left: Step, right: Step) -> Step:
        def check(run: Run) -> bool:
            one, other = left(run), right(run)
            run.spend(call_cost(function, overload, [one, other], wanted))
            return equal(one, other) is wanted

        return check

    return make


def _optional_select(operand: Step, field: Step) -> Step:
    def select(run: Run) -> Optional:
        value, name = operand(run), field(run)
        run.spend(1)
        if isinstance(value, Optional):
            if not value.is_there:
                return NONE
            value = value.value
        return Optional(get_field(value, name)) if has_field(value, name) else NONE

    return select


def _optional_index(operand: Step, key: Step) -> Step:
    def index(run: Run) -> Any:
        value, index_key = operand(run), key(run)
        run.spend(1)
        return lookup(value if isinstance(value, Optional) else Optional(value), index_key)

    return index


LAZY_OPERATORS: Final[dict[str, Callable[..., Step]]] = {
    "_?_:_": _conditional,
    "_&&_": _logical(decisive=False),
    "_||_": _logical(decisive=True),
    "@not_strictly_false": _not_strictly_false,
    "_==_": _equals(wanted=True),
    "_!=_": _equals(wanted=False),
    "_?._": _optional_select,
    "_[?_]": _optional_index,
}
