"""The fence: prevents writes of a former leader.

It is not a flag, but the time until which the last renewal counts. A write passes while the clock has not reached it,
however long ago the lease was read.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from kubewright.client import ConnectionLost, Request, Response, Transport
from kubewright.clock import Clock
from kubewright.durations import format_duration

__all__ = ["Fence", "FencedTransport", "NotLeader"]

_READS = frozenset({"GET", "HEAD", "OPTIONS"})


class NotLeader(Exception):
    """This process does not lead, so the write was not sent; or its leadership is over.

    `sent` is true if the write was sent while this process led, and the lease expired before the response arrived: the
    write may have happened.
    """

    def __init__(self, message: str, *, sent: bool = False) -> None:
        super().__init__(message)
        self.sent = sent


class Fence:
    """Open from the first renewal until the last one is `validity` seconds old, or it is closed. It never opens again.

    Safe to use from any thread, like the clock's `monotonic`.
    """

    def __init__(self, lease: str, clock: Clock, *, validity: float, margin: float) -> None:
        self.lease = lease
        self._clock = clock
        self._validity = validity
        self._margin = margin
        self._lock = threading.Lock()
        self._until = -math.inf
        self._opened = False
        self._closed = ""
        self._under_way = 0
        self._doubtful_until = -math.inf
        self._when_idle: list[Callable[[], object]] = []

    # The holder of the lease

    def renewed(self, began: float) -> bool:
        """Records a renewal by a request that began at that time. Returns False if that is too old to count."""
        with self._lock:
            now = self._clock.monotonic()
            if self._closed or (self._opened and now >= self._until) or now >= began + self._validity:
                return False
            self._opened = True
            self._until = max(self._until, began + self._validity)
            return True

    def close(self, reason: str) -> None:
        """Closes the fence. The first reason is kept."""
        with self._lock:
            self._closed = self._closed or reason

    # Writers

    @property
    def remaining(self) -> float:
        """Seconds left; 0 if this process does not lead."""
        return 0.0 if self._closed else max(self._until - self._clock.monotonic(), 0.0)

    def check(self, what: str = "this write") -> float:
        """Returns the seconds left for a request. Raises `NotLeader` if there are none."""
        left = self.remaining
        if left <= 0:
            raise NotLeader(f"{what}: not sent, because this process does not lead {self.lease}: {self.why}")
        return left

    @contextmanager
    def writing(self, what: str = "this write") -> Iterator[float]:
        """Wraps a write: calls `check`, and prevents a release of the lease before the write has ended."""
        with self._lock:
            left = self.check(what)
            self._under_way += 1
        doubtful = True
        try:
            yield left
            doubtful = False
        except NotLeader as error:
            doubtful = error.sent
            raise
        except ConnectionLost as error:
            doubtful = error.sent
            raise
        finally:
            self._ended(doubtful=doubtful)

    def _ended(self, *, doubtful: bool) -> None:
        idle: list[Callable[[], object]] = []
        with self._lock:
            self._under_way -= 1
            if doubtful:
                # The server may still be working on it. Allow as much time as at the end of a lease.
                self._doubtful_until = max(self._doubtful_until, self._clock.monotonic() + self._margin)
            if not self._under_way:
                idle, self._when_idle = self._when_idle, []
        for call in idle:
            call()

    @property
    def why(self) -> str:
        """Why it is closed."""
        if self._closed:
            return self._closed
        if not self._opened:
            return "it has not been elected"
        ago = self._clock.monotonic() - self._until + self._validity
        validity = format_duration(self._validity)
        return f"the lease was last renewed {format_duration(ago)} ago, and a renewal is valid for {validity}"

    # Release of the lease

    @property
    def settled(self) -> bool:
        """Whether all writes have ended with a known outcome."""
        return not self._under_way and self._clock.monotonic() >= self._doubtful_until

    @property
    def last_moment(self) -> float:
        """Seconds until every write in flight has ended, because none has more time."""
        return max(self._until - self._clock.monotonic(), 0.0)

    def when_idle(self, call: Callable[[], object]) -> None:
        """Calls back when no write is in flight, in the thread in which the last one ends."""
        with self._lock:
            if self._under_way:
                self._when_idle.append(call)
                return
        call()


class FencedTransport:
    """A transport that passes reads always, and writes only while a fence is open.

    It checks the fence before each attempt, and the wrapped transport checks it again before the first byte. A write
    has no more time for its response than the lease has left.
    """

    def __init__(self, inner: Transport, fence: Fence) -> None:
        self._inner = inner
        self._fence = fence

    async def send(self, request: Request) -> Response:
        """Sends one request. Raises `NotLeader` for a write while the fence is closed."""
        if request.method in _READS:
            return await self._inner.send(request)
        what, asked = str(request), request.before_send

        def before_send() -> None:
            if asked is not None:
                asked()
            self._fence.check(what)

        with self._fence.writing(what) as left:
            timeout = left if request.timeout is None else min(left, request.timeout)
            bounded = replace(request, timeout=timeout, before_send=before_send)
            try:
                return await self._inner.send(bounded)
            except TimeoutError:
                if timeout < left:
                    raise
                message = f"{what}: no answer before lease {self._fence.lease} expired; it may have happened"
                raise NotLeader(message, sent=True) from None

    async def close(self) -> None:
        """Does nothing: the connections belong to the wrapped transport."""
