"""`LeaderElector`: a campaign in the background, and what a program needs to know about it."""

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
from kubewright.election._apart import Apart, Here
from kubewright.election._campaign import Campaign
from kubewright.election._clock import BootClock
from kubewright.election._events import ElectionEvent
from kubewright.election._fence import Fence, FencedTransport, NotLeader
from kubewright.election._lease import LeaseLock, LeaseRecord
from kubewright.election._timing import Timing

__all__ = ["ElectionStatus", "LeaderElector"]

logger = logging.getLogger("kubewright.election")

_STOPPED = "it was asked to stop"
_ONCE = RetryPolicy(attempts=1)  # the campaign knows better when to try again


class ElectionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """An elector at one moment."""

    lease: str
    identity: str
    state: Literal["new", "standby", "leading", "over"]
    leader: str
    """Who holds the lease, as far as we have seen; "" when nobody does."""
    since: str
    """When the holder took the lease, as the Lease says."""
    seconds_left: float
    """How long we lead without another renewal."""
    transitions: int
    """How often the lease has passed from one holder to another."""
    renewals: int
    failures: int
    """How many attempts to look at, take or renew the lease have failed."""
    last_error: str
    """Why the last attempt failed; "" when it did not."""
    reason: str
    """Why it is over."""


class LeaderElector:
    """Stands for election as the leader of a Lease, once.

    `async with elector` begins to stand, and gives the lease back at the end; meanwhile `wait_for_leadership`,
    `wait_for_loss`, `is_leader` and `leader` tell how it goes. `async with elector.lead()` does all of it around a
    block of code. `fence` makes a client that writes only while this elector leads; it can be made at any time.

    What is lost stays lost: an elector whose leadership is over does not stand again, so that work of an earlier term
    can never write in a later one.

    Properties may be read from any thread; everything else belongs to the event loop in which it began.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str | None = None,
        *,
        identity: str | None = None,
        lease_duration: float = 15.0,
        renew_deadline: float = 10.0,
        retry_period: float = 2.0,
        release_on_exit: bool = True,
        on_event: Callable[[ElectionEvent], object] | None = None,
        renewal_client: Callable[[], Client] | None = None,
        in_thread: bool | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """Returns an elector that has not begun.

        Args:
            client: for which cluster; its twin renews the lease.
            name: the Lease. All that stand for the same one elect one leader.
            namespace: of the Lease; the client's own unless given.
            identity: who we are; made from the host's name and a random part unless given. Must be unique among the
                processes that run at any time: a lease that names us is taken at once.
            lease_duration: seconds that others wait after the last renewal that they saw.
            renew_deadline: seconds that we trust a renewal; less than that.
            retry_period: seconds between renewals, and at least between looks of those who wait.
            release_on_exit: give the lease back at the end, so that others need not wait for it to expire.
            on_event: called in the event loop when something changes.
            renewal_client: makes the client that renews the lease, in the thread where it is used.
            in_thread: renew in a thread of its own, so that blocking code does not lose the lease. Unless given: yes,
                when a second client can be made and the clock is the system's.
            clock: time; `BootClock` unless given.
            rng: randomness for jitter.
        """
        if not name:
            raise ValueError("a Lease needs a name")
        if identity is not None and not identity:
            raise ValueError("an identity cannot be empty: that is what a free lease says")
        self.name = name
        self.namespace = namespace or client.namespace
        self.identity = identity or f"{socket.gethostname()}_{uuid.uuid4()}"
        self.release_on_exit = release_on_exit
        self._client = client
        self._timing = Timing(lease_duration, renew_deadline, retry_period)
        self._clock = clock or BootClock()
        self._rng = rng or random.Random()  # noqa: S311  # jitter, not a secret
        self._on_event = on_event
        self._renewal_client = renewal_client
        able = (renewal_client is not None or client.has_twin) and isinstance(self._clock, SystemClock)
        self.in_thread = able if in_thread is None else in_thread
        if self.in_thread and not able:
            raise ValueError(
                "renewing in a thread needs the system's clock and a second client: give renewal_client a function "
                "that makes one"
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

    # Life

    async def __aenter__(self) -> Self:
        if self._runner is not None:
            raise RuntimeError(f"an elector of {self._fence.lease} stands only once: make another")
        self._loop = asyncio.get_running_loop()
        self._runner = (Apart if self.in_thread else Here)(self._stand, f"election {self._fence.lease}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Stops leading at once, wait for the writes that are under way, and give the lease back."""
        self._fence.close(_STOPPED)
        if self._runner is not None:
            await self._runner.stop()
            # What the thread told us last, before it ended, has been said; let it be heard before we return.
            self._over(_STOPPED)

    @contextlib.asynccontextmanager
    async def lead(self) -> AsyncIterator[Client]:
        """Stands, wait until we lead, and run the block with a client that writes only while we do.

        When the leadership is lost, the block is cancelled and `NotLeader` is raised in its place.
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

    # How it goes

    @property
    def is_leader(self) -> bool:
        """Whether we lead in this very moment, by the clock."""
        return self._fence.remaining > 0

    @property
    def leader(self) -> str:
        """The identity that the lease named when we last looked; "" for nobody."""
        return self._campaign.record.holder if self._campaign is not None else ""

    @property
    def lease_uid(self) -> str | None:
        """The uid of the Lease that we last wrote; None before that."""
        return self._campaign.lease_uid if self._campaign is not None else None

    async def wait_for_leadership(self) -> None:
        """Waits until we lead. Raises `NotLeader` when we led and it is over, or when it was stopped."""
        if self._runner is None:
            raise RuntimeError(f"the elector of {self._fence.lease} has not begun: use it as `async with elector`")
        waits = [asyncio.ensure_future(event.wait()) for event in (self._began, self._ended)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if self._ended.is_set():
            raise NotLeader(f"the leadership of {self._fence.lease} is over: {self._reason}")

    async def wait_for_loss(self) -> str:
        """Waits until it is over, and return why."""
        await self._ended.wait()
        return self._reason

    def fence(self, client: Client | None = None) -> Client:
        """A client that shares the connections of the given one, and raises `NotLeader` for writes unless we lead.

        Reads pass always. Without a client, the elector's own is taken.
        """
        return (client or self._client).through(lambda inner: FencedTransport(inner, self._fence))

    @property
    def status(self) -> ElectionStatus:
        """Everything at once."""
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

    async def _stand(self) -> None:
        """Until it is cancelled; then the lease is given back."""
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
                    on_observed=lambda record: self._tell(self._observed, record),
                    on_started=lambda: self._tell(self._started),
                )
                reason = await self._campaign.run()
            except Exception as error:
                logger.exception("the election of %s failed", self._fence.lease)
                reason = f"{type(error).__name__}: {error}"
            self._fence.close(reason)
            self._tell(self._over, reason)
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
        """Returns the client without retries of its own, and without a line in which renewals would have to wait."""
        timeout = self._timing.request_timeout
        return client.through(lambda inner: inner, retry=_ONCE, timeout=timeout, rate_limited=False)

    def _tell(self, hear: Callable[..., object], *args: object) -> None:
        """Have something heard in the program's event loop."""
        assert self._loop is not None
        if not self.in_thread:
            hear(*args)
        else:
            with contextlib.suppress(RuntimeError):  # that loop is closed: nobody listens any more
                self._loop.call_soon_threadsafe(hear, *args)

    # In the program's event loop

    def _observed(self, record: LeaseRecord) -> None:
        if record.holder != self.identity:
            logger.info("the leader of %s is %s", self._fence.lease, record.holder_shown or "nobody")
        self._emit(ElectionEvent("observed", record.holder))

    def _started(self) -> None:
        logger.info("%s leads %s", self.identity, self._fence.lease)
        self._began.set()
        self._emit(ElectionEvent("started", self.identity))

    def _over(self, reason: str) -> None:
        if self._ended.is_set():
            return
        self._reason = reason
        self._ended.set()
        for scope in self._scopes:
            self._interrupt(scope)
        if self._began.is_set():
            logger.log(
                logging.INFO if reason == _STOPPED else logging.ERROR,
                "%s does not lead %s any more: %s",
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
