"""Disturbed watches and stale reads."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from kubewright.clock import Clock
from kubewright.cluster._state import Watcher
from kubewright.cluster.laboratory._scope import Scope
from kubewright.cluster.machinery._authors import CONTROLLER_MANAGER
from kubewright.cluster.storage._storage import Event

__all__ = ["Audience", "Delayed", "Disturbance", "Dropped", "Frozen", "Gates", "Reordered", "Stale"]


@dataclass(frozen=True, slots=True)
class Audience:
    """The watches of a kind that are disturbed. Default: of all clients except the cluster's own controllers."""

    storage: str
    user: str = ""
    client: str = ""

    def includes(self, user: str, client: str) -> bool:
        """Returns whether the audience includes a client."""
        if self.client and self.client not in client:
            return False
        return user == self.user if self.user else user != CONTROLLER_MANAGER

    def has(self, watcher: Watcher) -> bool:
        """Returns whether the audience includes the client of a watch."""
        return self.includes(watcher.user, watcher.client)


class Disturbance(Scope):
    """A disturbance of the watches of a kind that lasts until `end`, or until the end of its block.

    At the end, held events are sent in order. `hits` counts the affected events.
    """

    def __init__(self, audience: Audience) -> None:
        self.audience = audience
        self.hits = 0
        self.ended: Callable[[Disturbance], None] = lambda _: None

    def holds(self, watcher: Watcher, frame: bytes, event: Event | None) -> bool:
        """Returns whether a frame is held back now. `event` is None for a bookmark."""
        raise NotImplementedError

    def release(self) -> None:
        """Sends the held frames."""

    def end(self) -> None:
        """Ends the disturbance. May be called more than once."""
        self.ended(self)
        self.release()


class Frozen(Disturbance):
    """Holds back everything until the end."""

    def __init__(self, audience: Audience) -> None:
        super().__init__(audience)
        self._held: list[tuple[Watcher, bytes]] = []

    def holds(self, watcher: Watcher, frame: bytes, event: Event | None) -> bool:
        """Holds back every frame."""
        self.hits += event is not None
        self._held.append((watcher, frame))
        return True

    def release(self) -> None:
        """Sends everything in order."""
        held, self._held = self._held, []
        for watcher, frame in held:
            watcher.deliver(frame)


class Stale(Frozen):
    """Serves cached reads of the kind as of a revision until the end."""

    def __init__(self, audience: Audience, revision: int) -> None:
        super().__init__(audience)
        self.revision = revision

    def holds(self, watcher: Watcher, frame: bytes, event: Event | None) -> bool:
        """Holds back every frame; bookmarks are dropped, because they would have no new revision."""
        return event is None or super().holds(watcher, frame, event)


class Delayed(Disturbance):
    """Delays everything, in order."""

    def __init__(self, audience: Audience, seconds: float, clock: Clock) -> None:
        super().__init__(audience)
        self._seconds = seconds
        self._clock = clock
        self._held: deque[tuple[Watcher, bytes]] = deque()

    def holds(self, watcher: Watcher, frame: bytes, event: Event | None) -> bool:
        """Holds back every frame for the delay."""
        self.hits += event is not None
        self._held.append((watcher, frame))
        self._clock.call_later(self._seconds, self._next)
        return True

    def _next(self) -> None:
        if self._held:  # the disturbance may have ended before
            watcher, frame = self._held.popleft()
            watcher.deliver(frame)

    def release(self) -> None:
        """Sends the frames that are still delayed."""
        while self._held:
            self._next()


class Dropped(Disturbance):
    """Drops the n-th event from now on, and the given number after it."""

    def __init__(self, audience: Audience, name: str, nth: int, times: int | None) -> None:
        super().__init__(audience)
        self._name = name
        self._nth = nth
        self._times = times
        self._seen: dict[int, int] = {}

    def holds(self, watcher: Watcher, frame: bytes, event: Event | None) -> bool:
        """Returns whether an event is dropped. Counts writes, so that all watches lose the same events."""
        if event is None or (self._name and event.entry.name != self._name):
            return False
        place = self._seen.setdefault(event.revision, len(self._seen) + 1)
        if place < self._nth or (self._times is not None and place >= self._nth + self._times):
            return False
        self.hits += 1
        return True


class Reordered(Disturbance):
    """Reorders events of different objects; events of one object keep their order, as on any server."""

    def __init__(self, audience: Audience, window: int, rng: random.Random) -> None:
        super().__init__(audience)
        self._window = window
        self._rng = rng
        self._held: dict[Watcher, list[tuple[str, bytes]]] = {}

    def holds(self, watcher: Watcher, frame: bytes, event: Event | None) -> bool:
        """Holds back frames until a window is full. A bookmark waits for the events before it."""
        held = self._held.setdefault(watcher, [])
        if event is None:
            self._send(watcher)
            return False
        self.hits += 1
        held.append((event.entry.key, frame))
        if len(held) >= self._window:
            self._send(watcher)
        return True

    def _send(self, watcher: Watcher) -> None:
        lines: dict[str, deque[bytes]] = {}
        held = self._held.pop(watcher, [])
        for key, frame in held:
            lines.setdefault(key, deque()).append(frame)
        order = [key for key, _ in held]
        self._rng.shuffle(order)
        for key in order:
            watcher.deliver(lines[key].popleft())

    def release(self) -> None:
        """Sends the frames of incomplete windows."""
        for watcher in list(self._held):
            self._send(watcher)


class Gates:
    """All disturbances between writes and watches; the `gate` of a cluster's state."""

    def __init__(self) -> None:
        self._disturbances: dict[str, list[Disturbance]] = {}

    def add(self, disturbance: Disturbance) -> None:
        """Adds a disturbance after the existing ones of the same kind."""
        self._disturbances.setdefault(disturbance.audience.storage, []).append(disturbance)
        disturbance.ended = self._remove

    def _remove(self, disturbance: Disturbance) -> None:
        there = self._disturbances.get(disturbance.audience.storage, [])
        if disturbance in there:
            there.remove(disturbance)

    def disturbs(self, storage: str) -> bool:
        """Returns whether a disturbance may withhold frames of watches of a kind."""
        return bool(self._disturbances.get(storage))

    def end(self) -> None:
        """Ends all disturbances."""
        for there in list(self._disturbances.values()):
            for disturbance in list(there):
                disturbance.end()

    def holds(self, watcher: Watcher, frame: bytes, event: Event | None) -> bool:
        """Returns whether a frame is held back now."""
        there = self._disturbances.get(watcher.storage)
        if not there:
            return False
        return any(each.audience.has(watcher) and each.holds(watcher, frame, event) for each in list(there))

    def horizon(self, storage: str, user: str, client: str) -> int | None:
        """Returns the revision of the cache that serves reads of a kind to a client; None for the newest."""
        shown = [
            each.revision
            for each in self._disturbances.get(storage, ())
            if isinstance(each, Stale) and each.audience.includes(user, client)
        ]
        return min(shown) if shown else None
