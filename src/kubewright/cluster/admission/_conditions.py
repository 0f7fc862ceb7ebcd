"""Match conditions of webhooks: expressions in CEL, for whoever can evaluate them.

`Chain.conditions` is that someone. While there is none, a configuration with match conditions is refused with 501.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kubewright.cluster._field_errors import FieldError
from kubewright.cluster._kinds import JSONObject
from kubewright.cluster.admission._attributes import Attributes

__all__ = ["ConditionError", "Conditions"]


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
