"""`EventRecorder`: a queue of events and the task that writes them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import socket
import threading
from collections import Counter
from types import TracebackType
from typing import Literal, Self, TypeAlias

import msgspec

from kubewright.api import Object, core
from kubewright.client import AlreadyExists, ApiError, Client, Forbidden, MergePatch, NotFound
from kubewright.clock import Clock, SystemClock
from kubewright.counts import counted
from kubewright.durations import Duration, check_duration
from kubewright.events._correlator import Correlator, Limits, Series
from kubewright.events._record import EventRecord, EventType, check_component, name_for
from kubewright.events._versions import EventVersion, namespace_of, writing
from kubewright.lru import LRUMemory
from kubewright.queue import TokenBucket

__all__ = ["Dropped", "EventRecorder", "EventStats"]

Dropped: TypeAlias = Literal["line_full", "spam", "rejected", "unreachable", "stopped"]
"""Why an event was dropped."""

logger = logging.getLogger("kubewright.events")

_MAX_QUEUED = 1_000
_SEND_ATTEMPTS = 12
_RETRY_SECONDS = 10.0
_RATE, _BURST = 100.0, 1_000
_LOGGED_AT_MOST = 1_000


class EventStats(msgspec.Struct):
    """The counts of a recorder."""

    recorded: int = 0
    """How often `record` was called."""
    written: int = 0
    """How often an event was created, or its count raised, on the server."""
    repeated: int = 0
    """How many records only raised the count of an event."""
    combined: int = 0
    """How many records were combined with similar events."""
    waiting: int = 0
    """Events in the queue."""
    dropped: Counter[Dropped] = msgspec.field(default_factory=Counter)
    """Dropped events by reason."""


class EventRecorder:
    """Writes events about objects, in the name of a component.

    Use it as `async with`, or call `start` and `close`. `record` may be called from any thread, and before `start`.

    Guarantees:

    - `record` does not wait, and raises only for invalid arguments (no reason, an unknown type).
    - At most 1000 events are queued. Further ones are dropped.
    - Events are written one after the other, at most 100 per second after a burst of 1000.
    - If the server is unreachable, an event is retried 12 times, about ten seconds apart, while the others wait. Events
      that the server rejects are dropped immediately.
    - Every drop is counted in `stats`, and the first of its kind is logged.
    - `close` writes the queued events and the last counts.
    """

    def __init__(
        self,
        client: Client,
        component: str,
        *,
        instance: str | None = None,
        host: str | None = None,
        version: EventVersion = "events.k8s.io/v1",
        limits: Limits | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """Creates a recorder. Call `start` to begin writing.

        Args:
            client: sends the requests. It needs the verbs `create` and `patch` on events of the version's group.
            component: the name of the recording component, such as the name of the operator.
            instance: identifies one of several replicas. Default: the component and the host name.
            host: the node that it reports for, as kubelets do; only events of `v1` contain it.
            version: the version of the API.
            limits: how many events are written.
            clock: time. Default: the system clock.
            rng: randomness for the names of events and for delays.
        """
        self.component = check_component(component)
        self.instance = instance or f"{component}-{socket.gethostname()}"
        self.host = host
        self._client = client
        self._writing = writing(version)
        self._clock = clock or SystemClock()
        self._rng = rng or random.Random()  # noqa: S311  # names and jitter, no secrets
        self._correlator = Correlator(self._clock, limits)
        self._pace: TokenBucket[str] = TokenBucket(_RATE, _BURST, clock=self._clock)
        self._line: asyncio.Queue[Series] = asyncio.Queue(_MAX_QUEUED)
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.get_ident()
        self._last_number = 0
        self._recorded = 0
        self._written = 0
        self._dropped: Counter[Dropped] = Counter()
        self._dropped_at_the_line = 0
        self._logged: LRUMemory[str, bool] = LRUMemory(_LOGGED_AT_MOST)

    @property
    def stats(self) -> EventStats:
        """The counts so far."""
        return EventStats(
            recorded=self._recorded,
            written=self._written,
            repeated=self._correlator.repeated,
            combined=self._correlator.combined,
            waiting=self._line.qsize(),
            dropped=Counter(self._dropped),
        )

    def record(
        self,
        about: Object | core.ObjectReference,
        reason: str,
        message: str,
        type: EventType = "Normal",  # noqa: A002
        *,
        action: str = "Reconcile",
        related: Object | core.ObjectReference | None = None,
    ) -> None:
        """Records an event about an object.

        Args:
            about: the object.
            reason: one CamelCase word, for programs: why the event happened.
            message: for people. Cut after 1024 bytes.
            type: whether it is a warning.
            action: one CamelCase word: what was done or attempted.
            related: a second object that is involved.
        """
        recorded = EventRecord.of(about, reason, message, type, action, self._clock.now(), related)
        if self._loop is not None and threading.get_ident() != self._thread:
            with contextlib.suppress(RuntimeError):  # that loop is closed: no task would write the event
                self._loop.call_soon_threadsafe(self._record, recorded)
        else:
            self._record(recorded)

    # Lifecycle

    def start(self) -> None:
        """Starts writing."""
        if self._task is None:
            self._loop = asyncio.get_running_loop()
            self._thread = threading.get_ident()
            self._task = self._loop.create_task(self._write_all(), name=f"events of {self.component}")

    async def flush(self) -> None:
        """Waits until everything recorded so far is written or dropped."""
        await asyncio.sleep(0)  # lets events of other threads arrive
        await self._line.join()

    async def close(self, timeout: Duration = 2.0) -> None:
        """Writes the queued events, for a short while, and stops."""
        task, self._task = self._task, None
        if task is None:
            return
        for series in self._correlator.unwritten():
            self._enqueue(series)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(check_duration("timeout", timeout)):
                await self.flush()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        if left := self._line.qsize():
            self._dropped["stopped"] += left
            events_were = counted(left, "event was", "events were")
            logger.warning("%s not written before the recorder was closed", events_were)

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # Into the queue

    def _record(self, recorded: EventRecord) -> None:
        self._recorded += 1
        series, allowed = self._correlator.count(recorded)
        if not allowed:
            if not series.written and not series.waiting:
                self._dropped["spam"] += 1
            return
        self._enqueue(series)

    def _enqueue(self, series: Series) -> None:
        if series.waiting:
            return  # it is queued already, and will be written with its current count
        try:
            self._line.put_nowait(series)
        except asyncio.QueueFull:
            self._dropped["line_full"] += 1
            self._dropped_at_the_line += 1
            if self._dropped_at_the_line == 1:
                logger.warning("the event queue is full; dropping new events until it has room")
        else:
            series.waiting = True

    # Out of the queue

    async def _write_all(self) -> None:
        while True:
            series = await self._line.get()
            series.waiting = False
            try:
                await self._write(series)
            except asyncio.CancelledError:
                self._dropped["stopped"] += 1
                raise
            except Exception as error:  # whatever is wrong with an event must not affect anything else
                self._drop(series, "rejected", error)
            finally:
                self._line.task_done()
                if self._dropped_at_the_line and self._line.empty():
                    dropped = counted(self._dropped_at_the_line, "event was", "events were")
                    logger.warning("%s dropped", dropped)
                    self._dropped_at_the_line = 0

    async def _write(self, series: Series) -> None:
        unsure = False  # whether an earlier attempt may have created the event, although its response was lost
        for attempt in range(1, _SEND_ATTEMPTS + 1):
            if (wait := self._pace.when("")) > 0:
                await self._clock.sleep(wait)
            try:
                await self._send(series, unsure=unsure)
                break
            except AlreadyExists as error:  # an event of another program with that name
                series.name = ""
                if attempt == _SEND_ATTEMPTS:
                    return self._drop(series, "rejected", error)
            except ApiError as error:
                if not error.is_temporary:
                    return self._drop(series, "rejected", error)
                if attempt == _SEND_ATTEMPTS:
                    return self._drop(series, "unreachable", error)
                unsure = True
                self._log("away", "event %s for %s %s cannot be written, retrying: %s", series, error)
                # The first delay is random, so that replicas do not retry together.
                await self._clock.sleep(_RETRY_SECONDS * self._rng.random() if attempt == 1 else _RETRY_SECONDS)
        self._written += 1
        self._logged.discard("away")
        self._logged.discard("unreachable")
        return None

    async def _send(self, series: Series, *, unsure: bool) -> None:
        count = series.count
        if series.written:
            patch = MergePatch(self._writing.again(series))
            try:
                await self._client.patch(self._writing.kind, series.name, patch, namespace_of(series))
            except NotFound:
                series.restart()
                count = series.count
            else:
                series.written = count
                return
        # The name stays the same for all attempts: if a response was lost, the next attempt finds the event.
        series.name = series.name or name_for(series.about, self._number_of(series))
        try:
            await self._client.create(self._writing.new(series, self.component, self.instance, self.host))
        except AlreadyExists:
            if not unsure:
                raise
        series.written = count

    def _number_of(self, series: Series) -> int:
        """Returns a number that grows with time: kubectl shows events of one second in the order of their names."""
        number = int(series.first_at.timestamp() * 1_000_000) * 1_000 + self._rng.randrange(1_000)
        self._last_number = max(self._last_number + 1, number)
        return self._last_number

    def _drop(self, series: Series, why: Dropped, error: Exception) -> None:
        self._dropped[why] += 1
        what = f"{type(error).__name__} {series.about.kind} {series.reason}" if why == "rejected" else why
        self._log(what, "event %s for %s %s was not written: %s", series, error)

    def _log(self, what: str, text: str, series: Series, error: Exception) -> None:
        """Warns about the first failure of its kind. Further ones are counted and logged at debug level."""
        level = logging.DEBUG if what in self._logged or _is_terminating(error) else logging.WARNING
        self._logged.put(what, True)
        logger.log(level, text, series.reason, series.about.kind, series.about.name, error)


def _is_terminating(error: Exception) -> bool:
    """Whether the namespace of the object is being deleted. Such an event is not worth a warning."""
    return isinstance(error, Forbidden) and error.namespace_is_going
