"""`WatchHealth`: how a cache is doing, for health pages and people."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal, TypeAlias

import msgspec

__all__ = ["WatchHealth", "WatchState", "combined"]

WatchState: TypeAlias = Literal["watching", "listing", "waiting", "stopped"]

_WORST_LAST: Final[tuple[WatchState, ...]] = ("watching", "listing", "waiting", "stopped")


class WatchHealth(msgspec.Struct):
    """How the watch of a kind is doing. `waiting` means that it failed and will be tried again."""

    state: WatchState = "stopped"
    last_event_at: datetime | None = None
    """When the server last sent anything, bookmarks included: the time of day, for people."""
    quiet_since: float | None = None
    """The same by `Clock.monotonic`, which nobody sets; of several watches, that of the one quiet for longest."""
    resource_version: str = ""
    """How far the watch has come."""
    relists: int = 0
    """How often everything was read anew, after the first time."""
    restarts: int = 0
    """How often the watch was opened again where it had ended."""
    stalls: int = 0
    """How often a watch was given up because nothing came any more."""
    undecodable: int = 0
    """How many states of objects were found that do not fit their model."""
    last_error: str = ""
    """What went wrong last; empty while all is well."""


def combined(parts: Iterable[WatchHealth]) -> WatchHealth:
    """The health of several watches that fill one store: the worst state, the sums, the oldest revision."""
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
        last_error="; ".join(dict.fromkeys(part.last_error for part in whole if part.last_error)),
    )
