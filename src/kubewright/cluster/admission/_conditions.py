"""Match conditions of webhooks and of policies: expressions in CEL, for whoever can evaluate them.

`Chain.conditions` is that someone. While there is none, a configuration with match conditions is refused with 501.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol

from kubewright.cluster._field_errors import FieldError, duplicate, invalid, required, too_many
from kubewright.cluster._kinds import JSONObject
from kubewright.cluster.admission._attributes import Attributes
from kubewright.names import qualified_name_problems

__all__ = ["ConditionError", "Conditions", "condition_errors"]

_MOST_CONDITIONS: Final = 64


class ConditionError(Exception):
    """A condition that could not be evaluated; the text says why, as the real server would."""


class Conditions(Protocol):
    """Checks and evaluates match conditions, each a dict with `name` and `expression`."""

    def problems(self, expression: str, path: str) -> list[FieldError]:
        """What is wrong with an expression: it does not compile, or is no boolean. `path` is the field's."""

    def matches(
        self,
        conditions: Sequence[JSONObject],
        attributes: Attributes,
        request: JSONObject,
        obj: JSONObject | None,
        old: JSONObject | None,
    ) -> bool:
        """Whether all hold for a write; `request` is the AdmissionRequest, `obj` and `old` are in its version.

        One that is false decides, whatever the others are. Raises `ConditionError` when none is false and some cannot
        be evaluated.
        """


def condition_errors(
    conditions: Sequence[JSONObject], path: str, problems: Callable[[str, str], Iterable[FieldError]]
) -> Iterator[FieldError]:
    """What is wrong with a list of conditions; `problems` says it of an expression at a path."""
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
