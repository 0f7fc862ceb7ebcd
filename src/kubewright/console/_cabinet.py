"""`Cabinet`: the shelves of a console, opened when somebody needs them and closed when nobody does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from types import TracebackType
from typing import Any, Final

from kubewright.clock import Clock, Timer
from kubewright.console._kinds import Kind
from kubewright.console._shelves import Shelf

__all__ = ["Cabinet", "Lease"]

_IDLE_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 1.0


class Lease:
    """A shelf that is opened when it is needed, and filled when it is given.

    `async with console.shelf(kind) as shelf` holds it for the block. `await console.shelf(kind)` gives it to whoever
    subscribes next: it closes after a minute in which nobody holds it or listens to it.
    """

    def __init__(self, cabinet: Cabinet, kind: Kind) -> None:
        self._cabinet = cabinet
        self._kind = kind
        self._shelf: Shelf | None = None

    def __await__(self) -> Generator[Any, None, Shelf]:
        return self._filled().__await__()

    async def _filled(self) -> Shelf:
        async with self as shelf:
            return shelf

    async def __aenter__(self) -> Shelf:
        shelf = await self._cabinet.open(self._kind)
        try:
            await shelf.filled()
        except BaseException:
            shelf.release()
            raise
        self._shelf = shelf
        return shelf

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._shelf is not None
        self._shelf.release()
        self._shelf = None


class Cabinet:
    """One shelf for each kind that somebody looks at. It also looks after their health, once a second."""

    def __init__(self, make: Callable[[Kind, Callable[[], None]], Awaitable[Shelf]], clock: Clock) -> None:
        """`make` makes the shelf of a kind, which calls what it is given when nobody holds it any more."""
        self._make = make
        self._clock = clock
        self._shelves: dict[Kind, Shelf] = {}
        self._opening: dict[Kind, asyncio.Lock] = {}
        self._timers: dict[Kind, Timer] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._looking: Timer | None = None

    @property
    def shelves(self) -> list[Shelf]:
        """Those that are open just now: each costs the API server one watch."""
        return [*self._shelves.values()]

    async def open(self, kind: Kind) -> Shelf:
        """The shelf, held for the caller, who releases it. It may still be filling."""
        async with self._opening.setdefault(kind, asyncio.Lock()):
            timer = self._timers.pop(kind, None)
            if timer is not None:
                timer.cancel()
            shelf = self._shelves.get(kind)
            if shelf is None:
                shelf = await self._make(kind, lambda: self._close_later(kind))
                shelf.open()
                if not shelf.forbidden:  # else it is tried anew: somebody may grant it
                    self._shelves[kind] = shelf
            shelf.redefine(kind)
            shelf.hold()
            return shelf

    def _close_later(self, kind: Kind) -> None:
        if kind not in self._timers and kind in self._shelves:
            self._timers[kind] = self._clock.call_later(_IDLE_SECONDS, lambda: self._close_idle(kind))

    def _close_idle(self, kind: Kind) -> None:
        self._timers.pop(kind, None)
        shelf = self._shelves.get(kind)
        if shelf is not None and not shelf.holds:
            del self._shelves[kind]
            task = asyncio.create_task(shelf.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def start(self) -> None:
        """Begin to look after them."""
        for shelf in self.shelves:
            shelf.look()
        self._looking = self._clock.call_later(_LOOK_SECONDS, self.start)

    async def stop(self) -> None:
        """Close all."""
        if self._looking is not None:
            self._looking.cancel()
        for timer in self._timers.values():
            timer.cancel()
        shelves, self._shelves = self.shelves, {}
        await asyncio.gather(*(shelf.close() for shelf in shelves), *self._closing)
