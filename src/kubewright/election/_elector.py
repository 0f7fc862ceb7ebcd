"""`LeaderElector`: runs a campaign in the background and reports its state."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import socket
import uuid
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Literal, Self

import msgspec

from kubewright.client import Client, RetryPolicy
from kubewright.clock import Clock, SystemClock
from kubewright.durations import Duration, check_duration
from kubewright.election._apart import Apart, Here
from kubewright.election._campaign import Campaign
from kubewright.election._clock import BootClock
from kubewright.election._events import ElectionEvent
from kubewright.election._fence import Fence, FencedTransport, NotLeader
from kubewright.election._lease import LeaseLock, LeaseRecord
from kubewright.election._timing import Timing

__all__ = ["ElectionStatus", "LeaderElector"]

logger = logging.getLogger("kubewright.election")

_STOPPED = "it was stopped"
_ONCE = RetryPolicy(attempts=1)  # the campaign decides when to retry


class ElectionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of an elector at one moment."""

    lease: str
    identity: str
    state: Literal["new", "standby", "leading", "over"]
    leader: str
    """The last observed holder of the lease; "" if the lease is free."""
    since: str
    """When the holder acquired the lease, as written in the Lease."""
    seconds_left: float
    """How long this process leads without another renewal."""
    transitions: int
    """How often the holder of the lease has changed."""
    renewals: int
    """How often this process has renewed the lease, not counting its acquisition."""
    failures: int
    """How many attempts to read, acquire or renew the lease have failed."""
    last_error: str
    """Why the last attempt failed; "" if it succeeded."""
    reason: str
    """Why the leadership ended."""


class LeaderElector:
    """A candidate for a Lease, once.

    `async with elector` starts the candidacy and releases the lease at the end. In the block, `wait_for_leadership`,
    `wait_for_loss`, `is_leader` and `leader` report its state. `async with elector.lead()` does all of this around a
    block of code. `fence` returns a client that writes only while this elector leads; it can be called at any time.

    A lost leadership is final: the elector does not compete again, so work of an earlier term can never write in a
    later one.

    Properties may be read from any thread; everything else belongs to the event loop in which it began.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str | None = None,
        *,
        identity: str | None = None,
        lease_duration: Duration = 15.0,
        renew_deadline: Duration = 10.0,
        retry_period: Duration = 2.0,
        release_on_exit: bool = True,
        on_event: Callable[[ElectionEvent], object] | None = None,
        renewal_client: Callable[[], Client] | None = None,
        in_thread: bool | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """Creates an elector that has not started.

        Args:
            client: for the cluster of the Lease. A copy of it renews the lease.
            name: the name of the Lease. Electors of the same Lease elect one leader.
            namespace: the namespace of the Lease. Default: that of the client.
            identity: the name of this candidate. Default: the host name and a random part. It must be unique
                among running processes, because a lease with this identity is acquired immediately.
            lease_duration: how long others wait after the last renewal that they saw.
            renew_deadline: how long this process trusts a renewal; less than `lease_duration`.
            retry_period: the interval between renewals, and the minimum between attempts of waiting candidates.
            release_on_exit: release the lease at the end, so that others need not wait until it expires.
            on_event: called in the event loop when something changes.
            renewal_client: creates the client that renews the lease, in the thread where it is used.
            in_thread: renew in a separate thread, so that blocking code does not lose the lease. Default: yes, if
                a second client can be created and the clock is the system's.
            clock: time. Default: `BootClock`.
            rng: randomness for jitter.
        """
        if not name:
            raise ValueError("a Lease needs a name")
        if identity is not None and not identity:
            raise ValueError("an identity cannot be empty: a Lease without a holder is free")
        self.name = name
        self.namespace = namespace or client.namespace
        self._rng = rng or random.Random()  # noqa: S311  # jitter and names, no secrets
        self.identity = identity or f"{socket.gethostname()}_{uuid.UUID(int=self._rng.getrandbits(128), version=4)}"
        self.release_on_exit = release_on_exit
        self._client = client
        self._timing = Timing(
            check_duration("lease_duration", lease_duration, zero=False),
            check_duration("renew_deadline", renew_deadline, zero=False),
            check_duration("retry_period", retry_period, zero=False),
        )
        self._clock = clock or BootClock()
        self._on_event = on_event
        self._renewal_client = renewal_client
        able = (renewal_client is not None or client.has_twin) and isinstance(self._clock, SystemClock)
        self.in_thread = able if in_thread is None else in_thread
        if self.in_thread and not able:
            raise ValueError(
                "renewing in a thread needs the system's clock and a second client: pass a function as renewal_client "
                "that creates one"
            )
        self._fence = Fence(
            f"{self.namespace}/{name}",
            self._clock,
            validity=self._timing.renew_deadline,
            margin=self._timing.margin,
        )
        self._campaign: Campaign | None = None
        self._runner: Here | Apart | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._began = asyncio.Event()
        self._ended = asyncio.Event()
        self._reason = ""
        self._scopes: set[asyncio.Timeout] = set()

    # Lifecycle

    async def __aenter__(self) -> Self:
        if self._runner is not None:
            raise RuntimeError(f"an elector of {self._fence.lease} runs only once: create another")
        self._loop = asyncio.get_running_loop()
        self._runner = (Apart if self.in_thread else Here)(self._run_campaign, f"election {self._fence.lease}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Stops leading immediately, waits for the writes in flight, and releases the lease."""
        self._fence.close(_STOPPED)
        if self._runner is not None:
            await self._runner.stop()
            # Let the last messages of the thread arrive before returning.
            self._finish(_STOPPED)

    @contextlib.asynccontextmanager
    async def lead(self) -> AsyncIterator[Client]:
        """Competes, waits until it leads, and runs the block with a client that writes only while it leads.

        If the leadership is lost, the block is cancelled and `NotLeader` is raised in its place.
        """
        async with self:
            await self.wait_for_leadership()
            scope = asyncio.timeout(None)
            try:
                async with scope:
                    self._scopes.add(scope)
                    if self._ended.is_set():
                        self._interrupt(scope)
                    yield self.fence(self._client)
            except TimeoutError:
                if not scope.expired():
                    raise
                raise NotLeader(f"the leadership of {self._fence.lease} was lost: {self._reason}") from None
            finally:
                self._scopes.discard(scope)

    # State

    @property
    def is_leader(self) -> bool:
        """Whether this process leads at this moment, by the clock."""
        return self._fence.remaining > 0

    @property
    def leader(self) -> str:
        """The last observed holder of the lease; "" if it is free."""
        return self._campaign.record.holder if self._campaign is not None else ""

    @property
    def lease_uid(self) -> str | None:
        """The uid of the Lease that this process last wrote; None before that."""
        return self._campaign.lease_uid if self._campaign is not None else None

    async def wait_for_leadership(self) -> None:
        """Waits until this process leads.

        Raises `NotLeader` if the leadership is over, or if the elector was stopped.
        """
        if self._runner is None:
            raise RuntimeError(f"the elector of {self._fence.lease} has not started: use it as `async with elector`")
        waits = [asyncio.ensure_future(event.wait()) for event in (self._began, self._ended)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if self._ended.is_set():
            raise NotLeader(f"the leadership of {self._fence.lease} is over: {self._reason}")

    async def wait_for_loss(self) -> str:
        """Waits until the leadership is over, and returns why."""
        await self._ended.wait()
        return self._reason

    def fence(self, client: Client | None = None) -> Client:
        """Returns a client that shares the connections of the given one and raises `NotLeader` for writes while not
        leading.

        Reads always pass. Default: the elector's own client.
        """
        return (client or self._client).through(lambda inner: FencedTransport(inner, self._fence))

    @property
    def status(self) -> ElectionStatus:
        """The complete state."""
        campaign, left = self._campaign, self._fence.remaining
        state: Literal["new", "standby", "leading", "over"] = "new" if self._runner is None else "standby"
        if self._ended.is_set():
            state = "over"
        elif left > 0:
            state = "leading"
        return ElectionStatus(
            lease=self._fence.lease,
            identity=self.identity,
            state=state,
            leader=self.leader,
            since=campaign.record.acquire_time if campaign else "",
            seconds_left=left,
            transitions=campaign.record.transitions if campaign else 0,
            renewals=campaign.renewals if campaign else 0,
            failures=campaign.failures if campaign else 0,
            last_error=campaign.last_error if campaign else "",
            reason=self._reason,
        )

    # In the campaign's thread

    async def _run_campaign(self) -> None:
        """Runs until it is cancelled, and then releases the lease."""
        owned: Client | None = None
        try:
            try:
                if self._renewal_client is not None:
                    owned = self._renewal_client()
                elif self.in_thread:
                    owned = self._client.twin()
                self._campaign = Campaign(
                    LeaseLock(self._for_renewals(owned or self._client), self.name, self.namespace),
                    self.identity,
                    self._timing,
                    self._fence,
                    clock=self._clock,
                    rng=self._rng,
                    on_observed=lambda record: self._call_in_loop(self._observed, record),
                    on_started=lambda: self._call_in_loop(self._started),
                )
                reason = await self._campaign.run()
            except Exception as error:
                logger.exception("the election of %s failed", self._fence.lease)
                reason = f"{type(error).__name__}: {error}"
            self._fence.close(reason)
            self._call_in_loop(self._finish, reason)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self._fence.close(_STOPPED)
        try:
            if self.release_on_exit and self._campaign is not None:
                await self._campaign.release()
        finally:
            if owned is not None:
                await owned.close()

    def _for_renewals(self, client: Client) -> Client:
        """Returns the client without its retries and rate limit, because a renewal must not wait."""
        timeout = self._timing.request_timeout
        return client.through(lambda inner: inner, retry=_ONCE, timeout=timeout, rate_limited=False)

    def _call_in_loop(self, callback: Callable[..., object], *args: object) -> None:
        """Calls a function in the program's event loop."""
        assert self._loop is not None
        if not self.in_thread:
            callback(*args)
        else:
            with contextlib.suppress(RuntimeError):  # that loop is closed
                self._loop.call_soon_threadsafe(callback, *args)

    # In the program's event loop

    def _observed(self, record: LeaseRecord) -> None:
        if record.holder != self.identity:
            logger.info("the leader of %s is %s", self._fence.lease, record.holder_shown or "no process")
        self._emit(ElectionEvent("observed", record.holder))

    def _started(self) -> None:
        logger.info("%s leads %s", self.identity, self._fence.lease)
        self._began.set()
        self._emit(ElectionEvent("started", self.identity))

    def _finish(self, reason: str) -> None:
        if self._ended.is_set():
            return
        self._reason = reason
        self._ended.set()
        for scope in self._scopes:
            self._interrupt(scope)
        if self._began.is_set():
            logger.log(
                logging.INFO if reason == _STOPPED else logging.ERROR,
                "%s no longer leads %s: %s",
                self.identity,
                self._fence.lease,
                reason,
            )
            self._emit(ElectionEvent("stopped", self.leader, reason, lost=reason != _STOPPED))

    @staticmethod
    def _interrupt(scope: asyncio.Timeout) -> None:
        if not scope.expired():
            scope.reschedule(asyncio.get_running_loop().time())

    def _emit(self, event: ElectionEvent) -> None:
        if self._on_event is not None:
            try:
                self._on_event(event)
            except Exception:
                logger.exception("on_event of the elector of %s failed", self._fence.lease)
