"""The fence: what keeps a leader that is none any more from writing.

It holds no flag, but the moment until which the last renewal counts. Whoever wants to write is let through while the
clock has not reached it, however long ago anybody looked at the lease.
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
    """This process does not lead, so the write was not begun; or its leadership is over.

    `sent` is true when the write had been begun while we led, and the time of the lease was up before its answer came:
    it may have happened.
    """

    def __init__(self, message: str, *, sent: bool = False) -> None:
        super().__init__(message)
        self.sent = sent


class Fence:
    """Open from the first renewal until one is `validity` seconds old, or it is closed. It never opens again.

    Safe to use from any thread, as the clock's `monotonic` is.
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
        """Returns the lease was renewed, by a request that began then. False when that was too late to count."""
        with self._lock:
            now = self._clock.monotonic()
            if self._closed or (self._opened and now >= self._until) or now >= began + self._validity:
                return False
            self._opened = True
            self._until = max(self._until, began + self._validity)
            return True

    def close(self, reason: str) -> None:
        """Lets nothing through any more. The first reason given is the one that is told."""
        with self._lock:
            self._closed = self._closed or reason

    # Those who write

    @property
    def remaining(self) -> float:
        """Seconds that are left; 0 when this process does not lead."""
        return 0.0 if self._closed else max(self._until - self._clock.monotonic(), 0.0)

    def check(self, what: str = "this write") -> float:
        """Returns seconds that are left for something. Raises `NotLeader` when there are none."""
        left = self.remaining
        if left <= 0:
            raise NotLeader(f"{what}: not sent, because this process does not lead {self.lease}: {self.why}")
        return left

    @contextmanager
    def writing(self, what: str = "this write") -> Iterator[float]:
        """Around a write: `check`, and the lease is not given back before it has ended."""
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
                # The server may still be working on it; the same time is allowed for that as at the end of a lease.
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
        return f"the lease was last renewed {format_duration(ago)} ago, and that counts for {validity}"

    # Giving the lease back

    @property
    def settled(self) -> bool:
        """Whether every write has ended, and none of them in a way that leaves open whether it still happens."""
        return not self._under_way and self._clock.monotonic() >= self._doubtful_until

    @property
    def last_moment(self) -> float:
        """Seconds until every write that is under way has ended, because none is given more time."""
        return max(self._until - self._clock.monotonic(), 0.0)

    def when_idle(self, call: Callable[[], object]) -> None:
        """Calls back as soon as no write is under way, in whichever thread the last one ends."""
        with self._lock:
            if self._under_way:
                self._when_idle.append(call)
                return
        call()


class FencedTransport:
    """A transport that lets reads through, and writes only while a fence is open.

    The fence is asked before each attempt, and again by the transport behind it before the first byte goes out. A write
    has no more time for its answer than what is left.
    """

    def __init__(self, inner: Transport, fence: Fence) -> None:
        self._inner = inner
        self._fence = fence

    async def send(self, request: Request) -> Response:
        """Sends one request. Raises `NotLeader` for a write that must not be."""
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
                message = f"{what}: no answer before the time of lease {self._fence.lease} was up; it may have happened"
                raise NotLeader(message, sent=True) from None

    async def close(self) -> None:
        """Nothing: the connections are those of the transport behind it."""
