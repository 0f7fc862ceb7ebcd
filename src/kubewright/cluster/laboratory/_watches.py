"""Watches that do not run as they should, and reads from the past."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from kubewright.clock import Clock
from kubewright.cluster._state import Watcher
from kubewright.cluster.storage._storage import Event

__all__ = ["Delayed", "Disturbance", "Dropped", "Frozen", "Gates", "Reordered", "Stale"]


class Disturbance:
    """Something that was arranged with the watches of a kind, until `end`, or the end of its block.

    What it held back then goes to the clients, in order. `hits` counts the events that it touched.
    """

    def __init__(self, storage: str) -> None:
        self.storage = storage
        self.hits = 0
        self.ended: Callable[[Disturbance], None] = lambda _: None

    def holds(self, watcher: Watcher, frame: bytes, event: Event | None) -> bool:
        """Whether a frame goes no further now. `event` is None for a bookmark."""
        raise NotImplementedError

    def release(self) -> None:
        """Send what was held back."""

    def end(self) -> None:
        """Let watches run as they should. Harmless when it has ended."""
        self.ended(self)
        self.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


class Frozen(Disturbance):
    """Nothing comes until the end."""

    def __init__(self, storage: str) -> None:
        super().__init__(storage)
        self._held: list[tuple[Watcher, bytes]] = []

    def holds(self, watcher: Watcher, frame: bytes, event: Event | None) -> bool:
        """Always."""
        self.hits += event is not None
        self._held.append((watcher, frame))
        return True

    def release(self) -> None:
        """Everything, in order."""
        held, self._held = self._held, []
        for watcher, frame in held:
            watcher.deliver(frame)


class Stale(Frozen):
    """The kind is shown as it was at a revision, until the end."""

    def __init__(self, storage: str, revision: int) -> None:
        super().__init__(storage)
        self.revision = revision

    def holds(self, watcher: Watcher, frame: bytes, event: Event | None) -> bool:
        """Always. There is nothing that a bookmark could tell."""
        return event is None or super().holds(watcher, frame, event)


class Delayed(Disturbance):
    """Everything comes later, in order."""

    def __init__(self, storage: str, seconds: float, clock: Clock) -> None:
        super().__init__(storage)
        self._seconds = seconds
        self._clock = clock
        self._held: deque[tuple[Watcher, bytes]] = deque()

    def holds(self, watcher: Watcher, frame: bytes, event: Event | None) -> bool:
        """For its time."""
        self.hits += event is not None
        self._held.append((watcher, frame))
        self._clock.call_later(self._seconds, self._next)
        return True

    def _next(self) -> None:
        if self._held:  # the end may have come first
            watcher, frame = self._held.popleft()
            watcher.deliver(frame)

    def release(self) -> None:
        """What has not come yet."""
        while self._held:
            self._next()


class Dropped(Disturbance):
    """Some events never come: the n-th from now on and those after it, as many as are named."""

    def __init__(self, storage: str, name: str, nth: int, times: int | None) -> None:
        super().__init__(storage)
        self._name = name
        self._nth = nth
        self._times = times
        self._seen: dict[int, int] = {}

    def holds(self, watcher: Watcher, frame: bytes, event: Event | None) -> bool:
        """Whether it is one of those: counted by their writes, so that all watches lose the same ones."""
        if event is None or (self._name and event.entry.name != self._name):
            return False
        place = self._seen.setdefault(event.revision, len(self._seen) + 1)
        if place < self._nth or (self._times is not None and place >= self._nth + self._times):
            return False
        self.hits += 1
        return True


class Reordered(Disturbance):
    """Events of different objects change places; those of one object keep their order, as no server mixes them."""

    def __init__(self, storage: str, window: int, rng: random.Random) -> None:
        super().__init__(storage)
        self._window = window
        self._rng = rng
        self._held: dict[Watcher, list[tuple[str, bytes]]] = {}

    def holds(self, watcher: Watcher, frame: bytes, event: Event | None) -> bool:
        """Until as many have come as change places with each other. A bookmark waits for those before it."""
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
        """What still waits for others to change places with."""
        for watcher in list(self._held):
            self._send(watcher)


class Gates:
    """What stands between writes and the watches of clients; the `gate` of a cluster's state."""

    def __init__(self) -> None:
        self._disturbances: dict[str, list[Disturbance]] = {}

    def add(self, disturbance: Disturbance) -> None:
        """Let it have its way, after those of the same kind that are there already."""
        self._disturbances.setdefault(disturbance.storage, []).append(disturbance)
        disturbance.ended = self._remove

    def _remove(self, disturbance: Disturbance) -> None:
        there = self._disturbances.get(disturbance.storage, [])
        if disturbance in there:
            there.remove(disturbance)

    def end(self) -> None:
        """End all of them."""
        for there in list(self._disturbances.values()):
            for disturbance in list(there):
                disturbance.end()

    def holds(self, watcher: Watcher, frame: bytes, event: Event | None) -> bool:
        """Whether a frame goes no further now."""
        there = self._disturbances.get(watcher.storage, ())
        return any(disturbance.holds(watcher, frame, event) for disturbance in list(there))

    def horizon(self, storage: str) -> int | None:
        """The revision that reads of a kind show; None for the newest."""
        shown = [each.revision for each in self._disturbances.get(storage, ()) if isinstance(each, Stale)]
        return min(shown) if shown else None
