"""Work outside the event loop that holds a virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Final

from kubewright.clock._clock import NOTHING
from kubewright.programs import current_program

__all__ = ["SERVED", "Holds"]

_SHOWN: Final = 5


class Holds:
    """The work that holds one clock."""

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self.by_name: dict[Hashable, _Hold] = {}
        self._waiter: asyncio.Future[None] | None = None

    def hold(self, work: str, name: Hashable | None) -> AbstractContextManager[object]:
        """See `Clock.hold`."""
        name = object() if name is None else name
        return self.by_name.get(name) or _Hold(self, work, name)

    def serving(self, name: Hashable, *, foreign: bool) -> AbstractContextManager[object]:
        """See `Clock.serving`."""
        hold = self.by_name.get(name)
        if hold is None:
            return NOTHING
        return _foreign(_Serving(self, hold)) if foreign else _Serving(self, hold)

    @property
    def work(self) -> list[str]:
        """The work that holds the clock now."""
        return [hold.work for hold in self.by_name.values() if hold.holds]

    async def until_something_is_released(self) -> None:
        """Waits in real time until work ends or is served. Raises TimeoutError if nothing does."""
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(self._longest):
                await self._waiter
        except TimeoutError:
            held = self.work
            more = f" and {len(held) - _SHOWN} more" if len(held) > _SHOWN else ""
            raise TimeoutError(
                f"virtual time is held for more than {self._longest:g} real seconds by work outside the event loop:"
                f" {'; '.join(held[:_SHOWN])}{more}. End that work, or allow for it with VirtualClock(longest_hold=...)"
            ) from None
        finally:
            self._waiter = None

    def released(self) -> None:
        """Wakes the clock."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class _Hold:
    """Work that holds a clock, unless it is `served`. It may be entered several times."""

    def __init__(self, holds: Holds, work: str, name: Hashable) -> None:
        self._holds = holds
        self.work, self._name = work, name
        self._blocks = 0
        self.served = 0
        self._program = current_program()
        if self._program is not None:
            self._program.when_killed(holds.released)

    @property
    def holds(self) -> bool:
        """Whether the clock waits for it."""
        return not self.served and (self._program is None or not self._program.killed)

    def __enter__(self) -> None:
        self._blocks += 1
        self._holds.by_name[self._name] = self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._blocks -= 1
        if not self._blocks:
            self._holds.by_name.pop(self._name, None)
            self._holds.released()


class _Serving:
    """Suspends a hold. It may be entered several times."""

    def __init__(self, holds: Holds, hold: _Hold) -> None:
        self._holds, self._hold = holds, hold

    def __enter__(self) -> None:
        self._hold.served += 1
        self._holds.released()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hold.served -= 1


SERVED: Final[ContextVar[AbstractContextManager[object]]] = ContextVar("SERVED", default=NOTHING)
"""The context manager to enter while the current code sleeps. Set for foreign code that serves a hold."""


@contextmanager
def _foreign(serving: _Serving) -> Iterator[None]:
    token = SERVED.set(serving)
    try:
        yield
    finally:
        SERVED.reset(token)
