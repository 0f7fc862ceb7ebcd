"""`Interruptible`: a reconcile that can be stopped, also if it runs in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

import msgspec

from kubewright.controller._environment import Environment

__all__ = ["Interruptible"]

T = TypeVar("T")


class _InEnvironment(msgspec.Struct, eq=False):
    environment: Environment


class Interruptible(_InEnvironment, kw_only=True, eq=False):
    """The part of a reconcile's state that stops it, and that runs the calls of a thread in the event loop."""

    _stopped: BaseException | None = None
    _pending: Future[Any] | None = None

    def stop(self, reason: BaseException) -> None:
        """Makes every further call raise `reason`. A thread that still runs stops at its next call."""
        self._stopped = reason
        if self._pending is not None:
            self._pending.cancel()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the operator's event loop, from a thread, and waits for it."""
        if self._stopped is not None:
            work.close()
            raise self._stopped
        self._pending = future = asyncio.run_coroutine_threadsafe(self._served(work), self.environment.loop)
        try:
            return future.result()
        except CancelledError:
            self.check()
            raise
        finally:
            self._pending = None

    async def _served(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits a coroutine for a thread, which does not hold the clock during that time."""
        with self.environment.clock.serving(self):
            return await work

    def check(self) -> None:
        """Raises the reason if the reconcile was stopped."""
        if self._stopped is not None:
            raise self._stopped
