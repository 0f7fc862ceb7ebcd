"""`Waiting`: the connections that wait for their clients, and which of them makes room for a new one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from kubewright.http._limits import ServerLimits

__all__ = ["Stage", "Waiting"]

T = TypeVar("T", bound=Hashable)

Stage: TypeAlias = Literal["answered", "silent", "started", "served"]
"""Why a connection waits. `answered`: its last response was sent, and it only closes. `silent`: its client has not sent
the first request, or the first message of TLS. `started`: a first handshake, request or body is incomplete. `served`:
kept for the next request of a client that was served before."""

_ORDER: Final[tuple[Stage, ...]] = ("answered", "silent", "started")


class Waiting(Generic[T]):
    """Decides which connection is closed when there are too many.

    Guarantees: a connection that was never served makes room before one that was, so that a flood does not close the
    kept connections of an API server. Within a stage, the one that has waited longest goes first. Each has a grace time
    in which it is safe, so that a client that sends its request immediately is served during a flood: `grace_seconds`
    once it has started, `silent_seconds` before that and after its last response. A busy machine can keep this process
    from reading for longer than that, so a silent connection whose client has sent is safe until it is read.

    Args:
        has_unread: whether the system has received bytes of a connection that were not read yet.
    """

    def __init__(self, limits: ServerLimits, has_unread: Callable[[T], bool]) -> None:
        self._has_unread = has_unread
        self._stages: dict[Stage, dict[T, float]] = {"answered": {}, "silent": {}, "started": {}, "served": {}}
        self._grace: dict[Stage, float] = {
            "answered": limits.silent_seconds,
            "silent": limits.silent_seconds,
            "started": limits.grace_seconds,
        }

    def __len__(self) -> int:
        return sum(map(len, self._stages.values()))

    def __iter__(self) -> Iterator[T]:
        for stage in self._stages.values():
            yield from stage

    def add(self, connection: T, stage: Stage, now: float) -> None:
        """Puts a connection at the end of a stage, or leaves it where it stands in this stage."""
        if connection not in self._stages[stage]:
            self.remove(connection)
            self._stages[stage][connection] = now

    def remove(self, connection: T) -> None:
        """Forgets a connection that no longer waits."""
        for stage in self._stages.values():
            stage.pop(connection, None)

    def next_to_close(self, now: float) -> T | None:
        """Returns the connection that makes room now; None if each is safe, or none waits."""
        for stage in _ORDER:
            if (found := self._oldest(stage, now)) is not None:
                return found
        if any(self._stages[stage] for stage in _ORDER):
            return None
        return next(iter(self._stages["served"]), None)

    def _oldest(self, stage: Stage, now: float) -> T | None:
        unread, found = [], None
        for connection, since in self._stages[stage].items():
            if since + self._grace[stage] > now:
                break
            if stage != "silent" or not self._has_unread(connection):
                found = connection
                break
            unread.append(connection)
        for connection in unread:  # to the end of the stage
            self.remove(connection)
            self.add(connection, stage, now)
        return found

    def safe_for(self, now: float) -> float | None:
        """Returns the seconds until a connection may be closed; None if none waits."""
        oldest = [
            next(iter(self._stages[stage].values())) + self._grace[stage] for stage in _ORDER if self._stages[stage]
        ]
        if oldest:
            return max(0.0, min(oldest) - now)
        return 0.0 if self._stages["served"] else None
