"""Match conditions of webhooks and policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from kubewright.api.cel import EvaluationError, types
from kubewright.cluster.admission import Attributes, ConditionError
from kubewright.cluster.machinery._field_errors import FieldError, invalid
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.policies._expressions import Budget, Expression, OutOfBudget, Scope, compiled, values_of

__all__ = ["PolicyConditions", "all_hold"]

_CEL_BUDGET: Final = 2_500_000


class PolicyConditions:
    """Implements `kubewright.cluster.admission._conditions.Conditions` with CEL."""

    def problems(self, expression: str, path: str) -> list[FieldError]:
        """Validates an expression."""
        problem = _compiled(expression).problem
        return [invalid(path, expression, problem)] if problem else []

    def matches(
        self,
        conditions: Sequence[JSONObject],
        attributes: Attributes,
        request: JSONObject,
        obj: JSONObject | None,
        old: JSONObject | None,
    ) -> bool:
        """Returns whether all conditions hold."""
        expressions = [_compiled(condition["expression"]) for condition in conditions]
        return all_hold(expressions, values_of(request, obj, old))


@lru_cache(maxsize=1024)
def _compiled(text: str) -> Expression:
    return compiled(text.strip(), Scope(), types.BOOL)


def all_hold(expressions: Sequence[Expression], values: Mapping[str, Any]) -> bool:
    """Returns whether all conditions hold. A false condition decides; an error counts only if no condition is false."""
    budget, failures = Budget(_CEL_BUDGET), []
    for expression in expressions:
        if expression.program is None:
            failures.append(f"compilation error: {expression.problem}")
            continue
        try:
            if budget.run(expression.program, values) is False:
                return False
        except OutOfBudget as error:
            raise ConditionError(str(error)) from None
        except EvaluationError as error:
            failures.append(f"expression '{expression.text}' resulted in error: {error}")
    if failures:
        raise ConditionError(failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]")
    return True
