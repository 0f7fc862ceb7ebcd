"""`Readiness`: the result of the rules."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec

__all__ = ["CURRENT", "Readiness", "ReadyState", "conditions_of", "failed", "in_progress"]

ReadyState: TypeAlias = Literal["Current", "InProgress", "Failed", "Terminating"]
"""As in kstatus: an object is ready if it is `Current`."""


class Readiness(msgspec.Struct, frozen=True):
    """Whether an object has reached its desired state, and why not."""

    state: ReadyState
    reason: str = ""
    """One CamelCase word."""
    message: str = ""
    """What is missing, such as `available: 1/3`."""

    @property
    def ready(self) -> bool:
        """Whether the object is `Current`."""
        return self.state == "Current"


CURRENT: Final = Readiness("Current")


def in_progress(reason: str, message: str) -> Readiness:
    """Returns the result for an object that its controller still works on."""
    return Readiness("InProgress", reason, message)


def failed(reason: str, message: str) -> Readiness:
    """Returns the result for an object that will not become ready without a change."""
    return Readiness("Failed", reason, message)


def conditions_of(status: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the conditions of a status, without invalid entries."""
    conditions = status.get("conditions")
    return [one for one in conditions if isinstance(one, dict)] if isinstance(conditions, list) else []
