"""The work queue."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable
from functools import partial
from threading import get_ident
from types import TracebackType
from typing import Generic, TypeVar

from kubewright.clock import Clock, SystemClock
from kubewright.queue._delays import Delays
from kubewright.queue._limits import ExponentialBackoff, RateLimiter
from kubewright.queue._lines import Lines, Place
from kubewright.queue._metrics import Durations, QueueMetrics, QueueStats
from kubewright.queue._state import KeyState

__all__ = ["LOW_PRIORITY", "QueueShutDown", "WorkQueue"]

K = TypeVar("K", bound=Hashable)

_log = logging.getLogger(__name__)

#: The priority of work that nothing new asks for: the initial list, and resyncs. Live events have priority 0.
LOW_PRIORITY = -100

# `get` returns at once while keys are ready. After this many in a row it lets the other tasks run, or workers that
# never wait for anything would keep the watches from being read. A number, not a time, so that tests can be replayed.
_LONGEST_STREAK = 32


class QueueShutDown(Exception):
    """The queue was shut down and has nothing left to hand out: the worker can go home."""


class WorkQueue(Generic[K]):
    """Keys that need work, for any number of workers. The key is all there is: what to do, the worker finds out.

    Promises:

    - A key that waits is there once, however often it is added, and no key is ever with two workers at once. A key
      added while a worker has it runs once more after `done`.
    - A higher priority goes first; within a priority, first come, first served. Adding a key again can raise its
      priority, never lower it; it then joins the end of the higher line.
    - A delayed key keeps the earliest of the times it was asked for, and an add without delay makes it ready now.
    - What was added is handed out, unless the queue is shut down first.

    A queue belongs to the thread that makes it, and works in that thread's event loop. `add`, `add_after` and
    `add_rate_limited` are plain calls that never block, and may come from any thread; so may reading (`len`, `state`,
    `stats`, `keys`, `retries`). The rest is for the queue's own thread. There is no task per key and one timer in all.
    """

    def __init__(
        self,
        name: str = "",
        *,
        rate_limiter: RateLimiter[K] | None = None,
        clock: Clock | None = None,
        metrics: QueueMetrics | None = None,
    ) -> None:
        clock = clock or SystemClock()
        self.name = name
        self.rate_limiter: RateLimiter[K] = rate_limiter if rate_limiter is not None else ExponentialBackoff()
        self._now = clock.monotonic
        self._metrics = metrics
        # A ready key is in `_waiting`. It stands in `_lines` as well, unless a worker still has it.
        self._waiting: dict[K, Place[K]] = {}
        self._lines = Lines(self._waiting)
        # Its priority, since when, and how long it had waited.
        self._running: dict[K, tuple[int, float, float]] = {}
        self._delays = Delays(clock, self._make_ready)
        self._getters: deque[asyncio.Future[None]] = deque()
        self._streak = 0
        self._shut_down = False
        self._drained = asyncio.Event()
        self._adds = 0
        self._retries = 0
        self._waited = Durations()
        self._worked = Durations()
        self._thread = get_ident()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._inbox: list[Callable[[], None]] = []
        self._inbox_lock = threading.Lock()
        self._catch_up_first = False

    # Adding

    def add(self, key: K, *, priority: int = 0) -> None:
        """Makes the key ready. Ignored after a shutdown."""
        if get_ident() != self._thread:
            self._from_other_thread(partial(self.add, key, priority=priority))
            return
        place = self._waiting.get(key)
        if place is not None:
            if priority > place[1]:
                self._raise(place, priority)
        elif not self._shut_down:
            if self._delays.by_key:
                delay = self._delays.pop(key)
                if delay is not None and delay[3] > priority:
                    priority = delay[3]
            self._make_ready(key, priority)

    def add_after(self, key: K, seconds: float, *, priority: int | None = None) -> None:
        """Makes the key ready after so many seconds, to the precision of the event loop's timers.

        A key that is ready already stays so. Without a priority it has the one it is running with, or 0.
        """
        if get_ident() != self._thread:
            self._from_other_thread(partial(self.add_after, key, seconds, priority=priority))
            return
        if self._shut_down:
            return
        if priority is None:
            running = self._running.get(key)
            priority = 0 if running is None else running[0]
        if not seconds > 0:  # nor is NaN, which would put the other delays out of order
            self.add(key, priority=priority)
            return
        self._retries += 1
        if self._metrics is not None:
            self._metrics.retried()
        place = self._waiting.get(key)
        if place is None:
            self._delays.set(key, self._now() + seconds, priority)
            if not self._delays.armed:
                self._catch_up_first = True
        elif priority > place[1]:
            self._raise(place, priority)

    def add_rate_limited(self, key: K, *, priority: int | None = None) -> None:
        """Makes the key ready after the delay that the rate limiter wants: the way to retry after a failure.

        Each call makes the next delay longer, until `forget`.
        """
        if get_ident() != self._thread:
            self._from_other_thread(partial(self.add_rate_limited, key, priority=priority))
        elif not self._shut_down:
            self.add_after(key, self.rate_limiter.when(key), priority=priority)

    def forget(self, key: K) -> None:
        """Lets the key's backoff start anew: after a success, or when it is given up. It does not remove the key."""
        self.rate_limiter.forget(key)

    def retries(self, key: K) -> int:
        """Returns how many rate-limited adds the key has had since it was last forgotten."""
        return self.rate_limiter.retries(key)

    # Working

    async def get(self) -> K:
        """Waits for a key and take it; call `done` when the work is over. Raises `QueueShutDown` at the end.

        Cancelling it takes nothing.
        """
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise QueueShutDown(f"work queue {self.name!r} was shut down") from None

    def __aiter__(self) -> WorkQueue[K]:
        """`async for key in queue:` takes keys until the shutdown; `done` is still the worker's to call."""
        return self

    async def __anext__(self) -> K:
        while True:
            if self._streak >= _LONGEST_STREAK:
                self._streak = 0
                await asyncio.sleep(0)
            if self._catch_up_first:
                self._catch_up()
            place = self._lines.pop()
            if place is not None:
                self._streak += 1
                return self._hand_out(place)
            if self._shut_down and not self._waiting:
                raise StopAsyncIteration
            await self._until_woken()

    def done(self, key: K) -> None:
        """Returns the worker is finished with the key. Goes exactly once with each `get`, whatever came of the work."""
        if get_ident() != self._thread:
            raise RuntimeError(f"{self!r} belongs to the thread that made it: call done() there, not in the worker's")
        running = self._running.pop(key, None)
        if running is None:
            raise ValueError(f"work queue {self.name!r}: done({key!r}), but no worker has that key; see get()")
        worked = self._now() - running[1]
        self._worked.observe(worked)
        if self._metrics is not None:
            self._metrics.finished(worked)
        place = self._waiting.get(key)
        if place is not None:
            self._lines.push(place)
            if self._getters:
                self._wake_one()
        elif self._shut_down:
            self._finish()

    def processing(self, key: K) -> _Processing[K]:
        """`with queue.processing(key):` calls `done(key)` at the end of the block, also when it raises."""
        return _Processing(self, key)

    # Shutting down

    def shutdown(self, *, drain: bool = True) -> None:
        """Accepts nothing more, and let the workers go home when there is nothing left.

        With `drain`, keys that are ready are still handed out, and a key that was added again while it runs still
        runs once more. Without, they are dropped. Delayed keys, and so all retries, are dropped in both cases: they
        may be hours away, and the next start lists everything anew. Running keys are never interrupted. May be called
        again to stop draining.
        """
        self._shut_down = True
        self._delays.clear()
        if not drain:
            if self._metrics is not None:
                for _, priority, _ in self._waiting.values():
                    self._metrics.dropped(priority)
            self._waiting.clear()
            self._lines.clear()
        self._finish()

    @property
    def shutting_down(self) -> bool:
        """Whether `shutdown` was called."""
        return self._shut_down

    async def drained(self) -> None:
        """Waits until the queue was shut down, the last key was handed out, and each worker is done."""
        await self._drained.wait()

    # Looking

    def __len__(self) -> int:
        """Keys that are ready, waiting for a worker or for the end of their own run; delayed ones are not."""
        return len(self._waiting)

    def __repr__(self) -> str:
        counts = f"{len(self._waiting)} ready, {len(self._delays.by_key)} delayed, {len(self._running)} running"
        return f"<WorkQueue {self.name!r}: {counts}{', shut down' if self._shut_down else ''}>"

    def keys(self) -> set[K]:
        """Returns every key that is ready, delayed or running."""
        return {*list(self._waiting), *list(self._delays.by_key), *list(self._running)}

    def state(self, key: K) -> KeyState:
        """Where that key is at this moment."""
        now = self._now()
        running, place, delay = self._running.get(key), self._waiting.get(key), self._delays.by_key.get(key)
        priority = place[1] if place else delay[3] if delay else running[0] if running else None
        return KeyState(
            running_for=now - running[1] if running else None,
            waiting_for=now - place[2] if place else None,
            ready_in=max(delay[0] - now, 0.0) if delay else None,
            priority=priority,
            retries=self.rate_limiter.retries(key),
        )

    def waited(self, key: K) -> float:
        """Returns how many seconds a key that a worker has now had been ready before; 0 for any other."""
        running = self._running.get(key)
        return 0.0 if running is None else running[2]

    def stats(self) -> QueueStats:
        """Returns the queue's numbers at this moment."""
        now = self._now()
        running = [now - since for _, since, _ in list(self._running.values())]
        return QueueStats(
            name=self.name,
            depth=len(self._waiting),
            depth_by_priority=dict(Counter([place[1] for place in list(self._waiting.values())])),
            delayed=len(self._delays.by_key),
            running=len(running),
            adds=self._adds,
            retries=self._retries,
            queue_duration=self._waited.snapshot(),
            work_duration=self._worked.snapshot(),
            unfinished_work_seconds=sum(running),
            longest_running_processor_seconds=max(running, default=0.0),
        )

    # Inside

    def _make_ready(self, key: K, priority: int) -> None:
        place = (key, priority, self._now())
        self._waiting[key] = place
        self._adds += 1
        if self._metrics is not None:
            self._metrics.added(priority)
        if key not in self._running:
            self._lines.push(place)
            if self._getters:
                self._wake_one()

    def _raise(self, place: Place[K], priority: int) -> None:
        if self._shut_down:
            return
        key, old, since = place
        place = (key, priority, since)
        self._waiting[key] = place
        if key not in self._running:
            self._lines.push(place)
            self._lines.left()
        if self._metrics is not None:
            self._metrics.raised(old, priority)

    def _hand_out(self, place: Place[K]) -> K:
        key, priority, since = place
        del self._waiting[key]
        if not self._waiting:
            self._waiting.clear()  # gives back the memory of the many that were in it at the start
        now = self._now()
        waited = now - since
        self._running[key] = (priority, now, waited)
        self._waited.observe(waited)
        if self._metrics is not None:
            self._metrics.taken(priority, waited)
        if self._shut_down:
            self._finish()
        return key

    async def _until_woken(self) -> None:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._join(loop)
            if self._catch_up_first:
                return
        getter = loop.create_future()
        self._getters.append(getter)
        try:
            await getter
        except BaseException:
            if not getter.cancelled():
                self._wake_one()  # it was our turn, and it passes to the next
            elif getter in self._getters:
                self._getters.remove(getter)
            raise
        self._streak = 0

    def _wake_one(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return

    def _finish(self) -> None:
        if not self._waiting:
            while self._getters:
                self._wake_one()
            if not self._running:
                self._drained.set()

    def _join(self, loop: asyncio.AbstractEventLoop) -> None:
        if get_ident() != self._thread:
            raise RuntimeError(f"{self!r} belongs to the thread that made it: make it in its event loop's thread")
        with self._inbox_lock:
            self._loop = loop
            if self._inbox:
                self._catch_up_first = True
        self._delays.rearm()

    def _from_other_thread(self, call: Callable[[], None]) -> None:
        with self._inbox_lock:
            self._inbox.append(call)
            if self._loop is None:
                self._catch_up_first = True
            elif len(self._inbox) == 1:  # otherwise the loop has been told already
                try:
                    self._loop.call_soon_threadsafe(self._catch_up)
                except RuntimeError:  # that loop is closed; `get` in another one will see it
                    self._loop = None
                    self._catch_up_first = True

    def _catch_up(self) -> None:
        self._catch_up_first = False
        with self._inbox_lock:
            calls, self._inbox = self._inbox, []
        for call in calls:
            try:
                call()
            except Exception:
                _log.exception("%r: an add from another thread failed", self)
        self._delays.arm()


class _Processing(Generic[K]):
    __slots__ = ("_key", "_queue")

    def __init__(self, queue: WorkQueue[K], key: K) -> None:
        self._queue = queue
        self._key = key

    def __enter__(self) -> K:
        return self._key

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._queue.done(self._key)
