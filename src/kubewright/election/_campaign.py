"""The protocol: a candidate waits for a lease, acquires it, renews it, and releases it.

Whether the lease of another holder has expired is decided by this process's own clock, counted from the last observed
change. Times that others wrote into the Lease are never compared with it. Every write is for the version that was read,
so one of two concurrent writes fails.

The lease lasts longer than its holder trusts it. Another candidate sees a renewal no earlier than it began and then
waits for the lease duration. By then, the fence of the former leader has been closed for the difference of the two.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any, TypeVar

from kubewright.api import Untyped, format_micro_time
from kubewright.client import ApiError, ConfigError, Conflict, NotFound
from kubewright.clock import Clock, TimeLimitExceeded, within
from kubewright.durations import format_duration
from kubewright.election._fence import Fence
from kubewright.election._lease import LeaseLock, LeaseRecord
from kubewright.election._timing import JITTER, Timing
from kubewright.user_code import contained

__all__ = ["Campaign"]

T = TypeVar("T")

logger = logging.getLogger("kubewright.election")

_RELEASE_TRIES = 3
_HARDLY_ANY = 0.001  # seconds: too short for another attempt
_EXPECTED = (ApiError, ConfigError, TimeoutError)


class _Taken(Exception):
    """Another process holds the lease."""


class Campaign:
    """One candidacy, from the first read of the lease to its end. Runs in one event loop, with a clock of that loop."""

    def __init__(
        self,
        lock: LeaseLock,
        identity: str,
        timing: Timing,
        fence: Fence,
        *,
        clock: Clock,
        rng: random.Random,
        on_observed: Callable[[LeaseRecord], object],
        on_started: Callable[[], object],
    ) -> None:
        self._lock = lock
        self._identity = identity
        self._timing = timing
        self._fence = fence
        self._clock = clock
        self._rng = rng
        self._on_observed = on_observed
        self._on_started = on_started
        self._lease: Untyped | None = None
        self._last_time: datetime | None = None
        self._term = ""  # the acquireTime that this process wrote: it identifies its own lease
        self._gone = False
        self._logged = ""
        self.record = LeaseRecord()
        self.observed_at = clock.monotonic()
        self.renewals = 0
        self.failures = 0
        self.last_error = ""

    @property
    def lease_uid(self) -> str | None:
        """The uid of the Lease that this process last wrote; None before that."""
        return self._lease.metadata.uid if self._lease is not None else None

    async def run(self) -> str:
        """Acquires the lease and keeps it. Returns why it was lost; the fence is then closed."""
        logger.info("%s waits for the lease %s", self._identity, self._fence.lease)
        while not await self._attempt(self._try_to_acquire(), self._timing.request_timeout):
            await self._clock.sleep(self._wait_as_standby())
        self._on_started()
        try:
            return await self._keep()
        except _Taken as taken:
            return str(taken)

    # Waiting

    async def _try_to_acquire(self) -> bool:
        lease = await self._lock.read()
        now = self._clock.monotonic()
        if lease is not None:
            self._observe(LeaseRecord.of(lease), now)
        elif not self._gone:
            self.observed_at = now  # deleted, perhaps while its holder does not know it yet
        self._gone = lease is None
        if self._others_time_left(now) > 0:
            return False
        if not self._is_ours(self.record):
            self._term = self._new_term()
        transitions = 0 if lease is None else self.record.transitions + (self.record.holder != self._identity)
        record, began = self._renewal(transitions), self._clock.monotonic()
        self._lease = await (self._lock.create(record) if lease is None else self._lock.write(lease, record))
        self._observe(record, self._clock.monotonic())
        # The process was paused, and the renewal is too old to count. The lease is acquired, so the next attempt
        # succeeds.
        return self._fence.renewed(began)

    def _others_time_left(self, now: float) -> float:
        """Returns the seconds for which the lease of another holder is still valid."""
        if self.record.holder in ("", self._identity):
            return 0.0
        return self.observed_at + (self.record.duration or self._timing.lease_duration) - now

    def _wait_as_standby(self) -> float:
        wait = self._timing.retry_period * (1 + JITTER * self._rng.random())
        left = self._others_time_left(self._clock.monotonic())
        # Retry soon after the lease expires, and not a whole period later, with some jitter between candidates.
        return min(wait, left + self._timing.retry_period * 0.1 * self._rng.random()) if left > 0 else wait

    # Leading

    async def _keep(self) -> str:
        while True:
            await self._clock.sleep(min(self._timing.retry_period, self._fence.remaining))
            left = self._fence.remaining
            if left <= _HARDLY_ANY:
                return f"{self._fence.why}{f' ({self.last_error})' if self.last_error else ''}"
            await self._attempt(self._renew(), min(self._timing.request_timeout, left))

    async def _renew(self) -> bool:
        assert self._lease is not None
        record, began = self._renewal(self.record.transitions), self._clock.monotonic()
        try:
            self._lease = await self._lock.write(self._lease, record)
        except (Conflict, NotFound):
            # Another process wrote or deleted it, or the response to an own write was lost.
            lease = await self._lock.read()
            if lease is not None:
                self._check_ours(lease)
            record, began = self._renewal(self.record.transitions), self._clock.monotonic()
            self._lease = await (self._lock.create(record) if lease is None else self._lock.write(lease, record))
        self.renewals += 1
        self._observe(record, self._clock.monotonic())
        return self._fence.renewed(began)

    def _renewal(self, transitions: int) -> LeaseRecord:
        return LeaseRecord(
            holder=self._identity,
            duration=self._timing.lease_seconds,
            acquire_time=self._term,
            renew_time=self._time_now(),
            transitions=transitions,
        )

    def _check_ours(self, lease: Untyped) -> None:
        found = LeaseRecord.of(lease)
        if self._is_ours(found):
            return
        self._observe(found, self._clock.monotonic())
        if found.holder == self._identity:
            raise _Taken(f"another process took the lease under the same identity, {self._identity}")
        raise _Taken(f"{found.holder_shown or 'no process'} holds the lease now")

    def _is_ours(self, record: LeaseRecord) -> bool:
        return record.holder == self._identity and record.acquire_time == self._term != ""

    def _new_term(self) -> str:
        term = self._time_now()
        return term if term != self.record.acquire_time else self._time_now()

    # Release

    async def release(self) -> bool:
        """Releases the lease if this process holds it and no write is in flight. The fence must be closed."""
        if not self._term:
            return False
        if not await self._writes_have_ended():
            logger.warning("lease %s is left to expire: the outcome of some writes is unknown", self._fence.lease)
            return False
        try:
            return await self._within(self._timing.request_timeout, self._give_back())
        except Exception as error:
            logger.warning("lease %s was not released, and is left to expire: %s", self._fence.lease, error)
            return False

    async def _give_back(self) -> bool:
        lease = self._lease
        for _ in range(_RELEASE_TRIES):
            lease = lease or await self._lock.read()
            if lease is None or not self._is_ours(LeaseRecord.of(lease)):
                return False
            now = self._time_now()
            record = LeaseRecord(
                duration=1, acquire_time=now, renew_time=now, transitions=LeaseRecord.of(lease).transitions
            )
            try:
                await self._lock.write(lease, record)
            except (Conflict, NotFound):
                lease = None  # a renewal that timed out, or another holder
            else:
                self._observe(record, self._clock.monotonic())
                return True
        return False

    async def _writes_have_ended(self) -> bool:
        ended, loop = asyncio.Event(), asyncio.get_running_loop()
        self._fence.when_idle(lambda: loop.is_closed() or loop.call_soon_threadsafe(ended.set))
        try:
            await self._within(self._fence.last_moment, ended.wait())
        except TimeoutError:
            return False
        return self._fence.settled

    # Helpers

    def _observe(self, record: LeaseRecord, now: float) -> None:
        if record == self.record:
            return
        changed = record.holder != self.record.holder
        self.record, self.observed_at = record, now
        if changed:
            self._on_observed(record)

    def _time_now(self) -> str:
        """Returns the time of day, and never the same twice.

        Other candidates would not see a renewal that changes nothing.
        """
        now = self._clock.now()
        if self._last_time is not None:
            now = max(now, self._last_time + timedelta(microseconds=1))
        self._last_time = now
        return format_micro_time(now)

    async def _attempt(self, work: Coroutine[Any, Any, bool], limit: float) -> bool:
        """Returns whether the work succeeded. Any failure is only a failed attempt: the fence decides when to stop."""
        try:
            done = await self._within(limit, work)
        except _Taken:
            raise
        except Exception as error:
            self.failures += 1
            self.last_error = str(error) or type(error).__name__
            level = logging.DEBUG if self.last_error == self._logged else logging.WARNING
            self._logged = self.last_error
            unexpected = None if isinstance(error, _EXPECTED) else error
            logger.log(level, "lease %s: %s", self._fence.lease, self.last_error, exc_info=unexpected)
            return False
        self.last_error = self._logged = ""
        return done

    async def _within(self, seconds: float, work: Awaitable[T]) -> T:
        """Returns the result of the work. Raises TimeoutError after that many seconds of the clock.

        A `CancelledError` of the work itself is an error like any other: a campaign that ended with it would leave a
        program that neither works nor stops.
        """
        try:
            return await within(self._clock, seconds, contained(work))
        except TimeLimitExceeded:
            raise TimeoutError(f"no answer within {format_duration(seconds)}") from None
