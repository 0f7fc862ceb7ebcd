"""Writing of statuses, and conditions without observedGeneration."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Protocol, TypeVar

import kubewright as kw
from kubewright.api import Object
from kubewright.controller import replace_status

__all__ = ["moment", "with_condition", "without_condition", "write_status"]


class Condition(Protocol):
    """The common fields of workload conditions."""

    type: str
    status: str
    reason: str | None
    last_transition_time: datetime | None


C = TypeVar("C", bound=Condition)


def moment(ctx: kw.Context[Any]) -> datetime:
    """Returns the current time in whole seconds, as in statuses."""
    return ctx.clock.now().replace(microsecond=0)


async def write_status(ctx: kw.Context[Any], status: Any) -> None:
    """Writes the status of the reconciled object if it changed."""
    obj: Object = ctx.object
    before: Any = obj
    if getattr(before.status, "conditions", None) and not getattr(status, "conditions", None):
        # `replace_status` keeps conditions if none are given; here the list is meant to be empty.
        before.status = status
        await ctx.client.update_status(obj)
        return
    await replace_status(ctx, status)


def with_condition(conditions: Iterable[C], new: C) -> list[C]:
    """Returns the conditions with this one, at the end if it is new. Its time changes only with its status."""
    kept = list(conditions)
    known = next((each for each in kept if each.type == new.type), None)
    if known is not None and (known.status, known.reason) == (new.status, new.reason):
        return kept
    if known is not None and known.status == new.status:
        new.last_transition_time = known.last_transition_time
    return [*without_condition(kept, new.type), new]


def without_condition(conditions: Iterable[C], type_: str) -> list[C]:
    """Returns the conditions without those of this type."""
    return [each for each in conditions if each.type != type_]
