"""`WatchHealth`: the state of a cache, for health pages and people."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal, TypeAlias

import msgspec

__all__ = ["WatchHealth", "WatchState", "combined"]

WatchState: TypeAlias = Literal["watching", "absent", "listing", "waiting", "stopped"]

_WORST_LAST: Final[tuple[WatchState, ...]] = ("watching", "absent", "listing", "waiting", "stopped")


class WatchHealth(msgspec.Struct):
    """The state of the watch of a kind. `waiting` means that it failed and will be retried.

    `absent` means that the server does not serve the kind, which is optional.
    """

    state: WatchState = "stopped"
    last_event_at: datetime | None = None
    """The time of day at which the server last sent anything, bookmarks included."""
    quiet_since: float | None = None
    """The same moment on `Clock.monotonic`, which is never adjusted. For several watches, the earliest."""
    resource_version: str = ""
    """The resourceVersion that the watch has reached."""
    relists: int = 0
    """How often all objects were listed again after the first list."""
    restarts: int = 0
    """How often the watch was reopened at the resourceVersion where it had ended."""
    stalls: int = 0
    """How often a watch was closed because the server sent nothing for too long."""
    undecodable: int = 0
    """How many states of objects do not fit their model."""
    blocked: int = 0
    """How often index functions and handlers blocked the event loop for a tenth of a second or longer."""
    blocked_seconds: float = 0.0
    """How long they blocked it in total."""
    last_error: str = ""
    """The last error; empty while the watch works."""


def combined(parts: Iterable[WatchHealth]) -> WatchHealth:
    """Returns the health of several watches together: the worst state, the sums, the oldest resourceVersion."""
    whole = [*parts]
    return WatchHealth(
        state=max((part.state for part in whole), key=_WORST_LAST.index, default="stopped"),
        last_event_at=max((part.last_event_at for part in whole if part.last_event_at), default=None),
        quiet_since=min((part.quiet_since for part in whole if part.quiet_since is not None), default=None),
        resource_version=min((part.resource_version for part in whole), key=lambda text: (len(text), text), default=""),
        relists=sum(part.relists for part in whole),
        restarts=sum(part.restarts for part in whole),
        stalls=sum(part.stalls for part in whole),
        undecodable=sum(part.undecodable for part in whole),
        blocked=sum(part.blocked for part in whole),
        blocked_seconds=sum(part.blocked_seconds for part in whole),
        last_error="; ".join(dict.fromkeys(part.last_error for part in whole if part.last_error)),
    )
