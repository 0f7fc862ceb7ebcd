"""Conditions of a status: one entry per aspect, such as `Ready`.

`set_condition` writes `metav1.Condition`s to anything that has `conditions: list[Condition]` (or `| None`), usually the
status of your own kind. The reading functions also accept the statuses of built-in kinds, which have their own types of
conditions: `is_condition_true(pod.status, "Ready")`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeVar

from kubewright.api._time import whole_seconds
from kubewright.redaction import as_text

if TYPE_CHECKING:
    from kubewright.api.meta.v1 import Condition

__all__ = ["ConditionStatus", "find_condition", "is_condition_true", "remove_condition", "set_condition"]

ConditionStatus = Literal["True", "False", "Unknown"]

_TYPE: Final = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])"
)
_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")


class _AnyCondition(Protocol):
    @property
    def type(self) -> str: ...

    @property
    def status(self) -> str: ...


_C = TypeVar("_C", bound=_AnyCondition)
_C_co = TypeVar("_C_co", bound=_AnyCondition, covariant=True)


class _Readable(Protocol[_C_co]):
    @property
    def conditions(self) -> Sequence[_C_co] | None: ...


class _Writable(Protocol):
    conditions: list[Condition]


class _WritableOrNone(Protocol):
    conditions: list[Condition] | None


def set_condition(
    target: _Writable | _WritableOrNone,
    type: str,  # noqa: A002  # the field's own name
    status: bool | ConditionStatus,
    reason: str,
    message: str = "",
    *,
    now: datetime,
    observed_generation: int | None = None,
) -> bool:
    """Adds or updates the condition of this type, and returns whether anything changed.

    `last_transition_time` becomes `now`, in whole seconds as the server stores it, if the condition is new or its
    status changes. It stays if only the reason, message or observed generation change. An exception as message becomes
    its message; characters that cannot be encoded are escaped. Raises ValueError for values that the server rejects.
    """
    from kubewright.api.meta.v1 import Condition

    wanted, message = _status_text(type, status), as_text(message)
    _check(type, reason, message, observed_generation)
    condition = find_condition(target, type)
    if condition is None:
        added = Condition(
            type=type,
            status=wanted,
            reason=reason,
            message=message,
            last_transition_time=whole_seconds(now),
            observed_generation=observed_generation,
        )
        if target.conditions is None:
            target.conditions = []
        target.conditions.append(added)
        return True
    before = (condition.status, condition.reason, condition.message, condition.observed_generation)
    if condition.status != wanted:
        condition.status = wanted
        condition.last_transition_time = whole_seconds(now)
    condition.reason, condition.message, condition.observed_generation = reason, message, observed_generation
    return before != (wanted, reason, message, observed_generation)


def find_condition(target: _Readable[_C] | None, type: str) -> _C | None:  # noqa: A002
    """Returns the condition of this type; None if there is none, or no status."""
    for condition in (target.conditions if target is not None else None) or ():
        if condition.type == type:
            return condition
    return None


def is_condition_true(target: _Readable[_AnyCondition] | None, type: str) -> bool:  # noqa: A002
    """Whether the condition exists and its status is True."""
    condition = find_condition(target, type)
    return condition is not None and condition.status == "True"


def remove_condition(target: _Writable | _WritableOrNone, type: str) -> bool:  # noqa: A002
    """Removes the condition of this type, and returns whether it existed."""
    before = target.conditions or []
    after = [condition for condition in before if condition.type != type]
    if len(after) == len(before):
        return False
    target.conditions = after
    return True


def _status_text(type_: str, status: bool | str) -> ConditionStatus:
    if status is True or status == "True":
        return "True"
    if status is False or status == "False":
        return "False"
    if status == "Unknown":
        return "Unknown"
    raise ValueError(f'condition {type_}: status {status!r} must be True, False or "Unknown"')


def _check(type_: str, reason: str, message: str, observed_generation: int | None) -> None:
    if len(type_) > 316 or not _TYPE.fullmatch(type_):
        raise ValueError(f"condition type {type_!r} must be a name such as Ready or example.com/Ready")
    if not reason:
        raise ValueError(f"condition {type_}: a reason is required, a CamelCase word such as MinimumReplicasAvailable")
    if len(reason) > 1024 or not _REASON.fullmatch(reason):
        raise ValueError(
            f"condition {type_}: reason {_short(reason)} must be a CamelCase word of at most 1024 letters, digits, "
            "'_', ',' and ':', beginning with a letter; free text belongs in the message"
        )
    if len(message) > 32768:
        raise ValueError(f"condition {type_}: the message has {len(message)} characters, at most 32768 are allowed")
    if observed_generation is not None and observed_generation < 0:
        raise ValueError(f"condition {type_}: observed_generation {observed_generation} must not be negative")


def _short(text: str) -> str:
    return repr(text) if len(text) <= 80 else f"{text[:80]!r}... ({len(text)} characters)"
