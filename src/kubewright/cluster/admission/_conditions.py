"""Match conditions of webhooks and policies: CEL expressions.

`Chain.conditions` evaluates them. If it is None, configurations with match conditions are rejected with 501.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol

from kubewright.cluster.admission._attributes import Attributes
from kubewright.cluster.machinery._field_errors import FieldError, duplicate, invalid, required, too_many
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.names import qualified_name_problems

__all__ = ["ConditionError", "Conditions", "condition_errors"]

_MOST_CONDITIONS: Final = 64


class ConditionError(Exception):
    """A condition that could not be evaluated, with the message of the real server."""


class Conditions(Protocol):
    """Checks and evaluates match conditions, each a dict with `name` and `expression`."""

    def problems(self, expression: str, path: str) -> list[FieldError]:
        """Validates an expression: it must compile to a boolean. `path` is the path of its field."""

    def matches(
        self,
        conditions: Sequence[JSONObject],
        attributes: Attributes,
        request: JSONObject,
        obj: JSONObject | None,
        old: JSONObject | None,
    ) -> bool:
        """Returns whether all conditions hold. `request` is the AdmissionRequest; `obj` and `old` are in its version.

        A false condition decides, even if others fail. Raises `ConditionError` if no condition is false and some fail.
        """


def condition_errors(
    conditions: Sequence[JSONObject], path: str, problems: Callable[[str, str], Iterable[FieldError]]
) -> Iterator[FieldError]:
    """Validates a list of conditions; `problems` validates one expression at a path."""
    if len(conditions) > _MOST_CONDITIONS:
        yield too_many(path, len(conditions), _MOST_CONDITIONS)
    seen = set()
    for index, condition in enumerate(conditions):
        here, name = f"{path}[{index}]", condition.get("name") or ""
        expression = (condition.get("expression") or "").strip()
        if not expression:
            yield required(f"{here}.expression")
        else:
            yield from problems(expression, f"{here}.expression")
        if not name:
            yield required(f"{here}.name")
        else:
            yield from (invalid(f"{here}.name", name, problem) for problem in qualified_name_problems(name))
        if name and name in seen:
            yield duplicate(f"{here}.name", name)
        seen.add(name)
