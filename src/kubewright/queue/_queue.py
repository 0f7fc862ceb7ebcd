"""The work queue."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable
from functools import partial
from threading import get_ident
from typing import Generic, TypeVar

from kubewright.clock import Clock, SystemClock
from kubewright.queue._delays import Delays
from kubewright.queue._limits import ExponentialBackoff, RateLimiter
from kubewright.queue._lines import Lines, ReadyKey
from kubewright.queue._metrics import Durations, QueueMetrics, QueueStats
from kubewright.queue._processing import Processing
from kubewright.queue._state import KeyState

__all__ = ["LOW_PRIORITY", "QueueShutDown", "WorkQueue"]

K = TypeVar("K", bound=Hashable)

_log = logging.getLogger(__name__)

#: The priority of the initial list and of resyncs. Live events have priority 0.
LOW_PRIORITY = -100

# `get` returns without waiting while keys are ready. After this many calls it lets other tasks run, because workers
# that never wait would stall the watches. It is a number and not a time, so that tests can be replayed.
_LONGEST_STREAK = 32


class QueueShutDown(Exception):
    """The queue was shut down and is empty: the worker can end."""


class WorkQueue(Generic[K]):
    """Keys that need work, for any number of workers. A queue stores keys only; the worker finds out what to do.

    Guarantees:

    - A waiting key is in the queue once, however often it is added, and no two workers have the same key. A key that is
      added while a worker has it runs once more after `done`.
    - Higher priorities go first; within a priority, first in, first out. Adding a key again can raise its priority,
      never lower it; it then joins the end of the higher line.
    - A delayed key keeps the earliest requested time, and an add without delay makes it ready now.
    - Every added key is handed out, unless the queue is shut down first.

    A queue belongs to the thread that creates it, and works in that thread's event loop. `add`, `add_after` and
    `add_rate_limited` never block and may be called from any thread, as may the reads (`len`, `state`, `stats`, `keys`,
    `retries`). Everything else is for the queue's own thread. There is no task per key and only one timer.
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
        # A ready key is in `_waiting`. It is in `_lines` as well, unless a worker still has it.
        self._waiting: dict[K, ReadyKey[K]] = {}
        self._lines = Lines(self._waiting)
        # (priority, start time, time that it had waited)
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
        entry = self._waiting.get(key)
        if entry is not None:
            if priority > entry[1]:
                self._raise(entry, priority)
        elif not self._shut_down:
            if self._delays.by_key:
                delay = self._delays.pop(key)
                if delay is not None and delay[3] > priority:
                    priority = delay[3]
            self._make_ready(key, priority)

    def add_after(self, key: K, seconds: float, *, priority: int | None = None) -> None:
        """Makes the key ready after that many seconds, to the precision of the event loop's timers.

        A key that is already ready stays ready. The default priority is the one that the key is running with, or 0.
        """
        if get_ident() != self._thread:
            self._from_other_thread(partial(self.add_after, key, seconds, priority=priority))
            return
        if self._shut_down:
            return
        if priority is None:
            running = self._running.get(key)
            priority = 0 if running is None else running[0]
        if not seconds > 0:  # NaN is rejected too, because it would break the order of the other delays
            self.add(key, priority=priority)
            return
        self._retries += 1
        if self._metrics is not None:
            self._metrics.retried()
        entry = self._waiting.get(key)
        if entry is None:
            self._delays.set(key, self._now() + seconds, priority)
            if not self._delays.armed:
                self._catch_up_first = True
        elif priority > entry[1]:
            self._raise(entry, priority)

    def add_rate_limited(self, key: K, *, priority: int | None = None) -> None:
        """Makes the key ready after the delay of the rate limiter. Use it to retry after a failure.

        Each call makes the next delay longer, until `forget`.
        """
        if get_ident() != self._thread:
            self._from_other_thread(partial(self.add_rate_limited, key, priority=priority))
        elif not self._shut_down:
            self.add_after(key, self.rate_limiter.when(key), priority=priority)

    def forget(self, key: K) -> None:
        """Resets the key's backoff, after a success or when it will not be retried. Does not remove the key."""
        self.rate_limiter.forget(key)

    def retries(self, key: K) -> int:
        """Returns the number of rate-limited adds of the key since it was last forgotten."""
        return self.rate_limiter.retries(key)

    # Workers

    async def get(self) -> K:
        """Waits for a key and takes it. Call `done` when the work is finished. Raises `QueueShutDown` at the end.

        Cancelling the call loses no key.
        """
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise QueueShutDown(f"work queue {self.name!r} was shut down") from None

    def __aiter__(self) -> WorkQueue[K]:
        """`async for key in queue:` takes keys until the shutdown. The worker must still call `done`."""
        return self

    async def __anext__(self) -> K:
        while True:
            if self._streak >= _LONGEST_STREAK:
                self._streak = 0
                await asyncio.sleep(0)
            if self._catch_up_first:
                self._catch_up()
            entry = self._lines.pop()
            if entry is not None:
                self._streak += 1
                return self._hand_out(entry)
            if self._shut_down and not self._waiting:
                raise StopAsyncIteration
            await self._until_woken()

    def done(self, key: K) -> None:
        """Ends the work on a key. Call it exactly once for each `get`, whether the work succeeded or not."""
        if get_ident() != self._thread:
            raise RuntimeError(f"{self!r} belongs to the thread that created it: call done() in that thread")
        running = self._running.pop(key, None)
        if running is None:
            raise ValueError(f"work queue {self.name!r}: done({key!r}), but no worker has that key; see get()")
        worked = self._now() - running[1]
        self._worked.observe(worked)
        if self._metrics is not None:
            self._metrics.finished(worked)
        entry = self._waiting.get(key)
        if entry is not None:
            self._lines.push(entry)
            if self._getters:
                self._wake_one()
        elif self._shut_down:
            self._finish()

    def processing(self, key: K) -> Processing[K]:
        """`with queue.processing(key):` calls `done(key)` at the end of the block, also if it raises."""
        return Processing(self.done, key)

    # Shutdown

    def shutdown(self, *, drain: bool = True) -> None:
        """Accepts no more keys and ends the workers when the queue is empty.

        With `drain`, ready keys are still handed out, and a key that was added again while it runs still runs once
        more. Otherwise they are dropped. Delayed keys, and therefore all retries, are dropped in both cases: they may
        be hours away, and the next start lists everything again. Running keys are never interrupted. Call it again to
        stop draining.
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
        """Waits until the queue is shut down and empty, and all workers are done."""
        await self._drained.wait()

    # Reads

    def __len__(self) -> int:
        """The number of ready keys, which wait for a worker or for the end of their own run.

        Delayed keys do not count.
        """
        return len(self._waiting)

    def __repr__(self) -> str:
        counts = f"{len(self._waiting)} ready, {len(self._delays.by_key)} delayed, {len(self._running)} running"
        return f"<WorkQueue {self.name!r}: {counts}{', shut down' if self._shut_down else ''}>"

    def keys(self) -> set[K]:
        """Returns every key that is ready, delayed or running."""
        return {*list(self._waiting), *list(self._delays.by_key), *list(self._running)}

    def state(self, key: K) -> KeyState:
        """Returns the state of a key."""
        now = self._now()
        running, entry, delay = self._running.get(key), self._waiting.get(key), self._delays.by_key.get(key)
        priority = entry[1] if entry else delay[3] if delay else running[0] if running else None
        return KeyState(
            running_for=now - running[1] if running else None,
            waiting_for=now - entry[2] if entry else None,
            ready_in=max(delay[0] - now, 0.0) if delay else None,
            priority=priority,
            retries=self.rate_limiter.retries(key),
        )

    def waited(self, key: K) -> float:
        """Returns how long a running key had been ready before a worker took it, in seconds; 0 for any other key."""
        running = self._running.get(key)
        return 0.0 if running is None else running[2]

    def stats(self) -> QueueStats:
        """Returns the current numbers of the queue."""
        now = self._now()
        running = [now - since for _, since, _ in list(self._running.values())]
        return QueueStats(
            name=self.name,
            depth=len(self._waiting),
            depth_by_priority=dict(Counter([entry[1] for entry in list(self._waiting.values())])),
            delayed=len(self._delays.by_key),
            running=len(running),
            adds=self._adds,
            retries=self._retries,
            queue_duration=self._waited.snapshot(),
            work_duration=self._worked.snapshot(),
            unfinished_work_seconds=sum(running),
            longest_running_processor_seconds=max(running, default=0.0),
        )

    # Internals

    def _make_ready(self, key: K, priority: int) -> None:
        entry = (key, priority, self._now())
        self._waiting[key] = entry
        self._adds += 1
        if self._metrics is not None:
            self._metrics.added(priority)
        if key not in self._running:
            self._lines.push(entry)
            if self._getters:
                self._wake_one()

    def _raise(self, entry: ReadyKey[K], priority: int) -> None:
        if self._shut_down:
            return
        key, old, since = entry
        entry = (key, priority, since)
        self._waiting[key] = entry
        if key not in self._running:
            self._lines.push(entry)
            self._lines.left()
        if self._metrics is not None:
            self._metrics.raised(old, priority)

    def _hand_out(self, entry: ReadyKey[K]) -> K:
        key, priority, since = entry
        del self._waiting[key]
        if not self._waiting:
            self._waiting.clear()  # frees the memory of the many keys of the start
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
                self._wake_one()  # this worker was woken: wake the next one instead
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
            raise RuntimeError(f"{self!r} belongs to the thread that created it: create it in its event loop's thread")
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
            elif len(self._inbox) == 1:  # otherwise the loop was already woken
                try:
                    self._loop.call_soon_threadsafe(self._catch_up)
                except RuntimeError:  # that loop is closed; `get` in another one will find the key
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
