"""Writing statuses, and the conditions in them that have no observedGeneration."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Protocol, TypeVar

import kubewright as kw
from kubewright.api import Object
from kubewright.controller import replace_status

__all__ = ["moment", "with_condition", "without_condition", "write_status"]


class Condition(Protocol):
    """What conditions of workloads have in common."""

    type: str
    status: str
    reason: str | None
    last_transition_time: datetime | None


C = TypeVar("C", bound=Condition)


def moment(ctx: kw.Context[Any]) -> datetime:
    """The time as statuses carry it, in whole seconds."""
    return ctx.clock.now().replace(microsecond=0)


async def write_status(ctx: kw.Context[Any], status: Any) -> None:
    """Make this the status of the reconciled object, if it is not."""
    obj: Object = ctx.object
    before: Any = obj
    if getattr(before.status, "conditions", None) and not getattr(status, "conditions", None):
        # `replace_status` keeps conditions when it is given none; here none are meant.
        before.status = status
        await ctx.client.update_status(obj)
        return
    await replace_status(ctx, status)


def with_condition(conditions: Iterable[C], new: C) -> list[C]:
    """The conditions with this one, at the end unless it says nothing new. Its time changes with its status alone."""
    kept = list(conditions)
    known = next((each for each in kept if each.type == new.type), None)
    if known is not None and (known.status, known.reason) == (new.status, new.reason):
        return kept
    if known is not None and known.status == new.status:
        new.last_transition_time = known.last_transition_time
    return [*without_condition(kept, new.type), new]


def without_condition(conditions: Iterable[C], type_: str) -> list[C]:
    """The conditions but those of this type."""
    return [each for each in conditions if each.type != type_]
