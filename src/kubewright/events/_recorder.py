"""`EventRecorder`: a line of events and the task that writes them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import socket
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Literal, Self, TypeAlias

from kubewright.api import Object, ObjectMeta, format_time
from kubewright.api.core.v1 import Event, EventSource, ObjectReference
from kubewright.client import Client, MergePatch, NotFound
from kubewright.clock import Clock, SystemClock

__all__ = ["EventRecorder", "EventType"]

EventType: TypeAlias = Literal["Normal", "Warning"]

logger = logging.getLogger("kubewright.events")

_LONGEST_LINE = 1_000
_REMEMBERED = 4_096
_LONGEST_MESSAGE = 1_024  # what the server accepts
_LONGEST_REASON = 128


@dataclass(slots=True)
class _Told:
    """An event that waits to be written, and afterwards where it was written and how often it was told."""

    about: ObjectReference
    type: EventType
    reason: str
    message: str
    at: datetime
    name: str = ""
    count: int = 0

    @property
    def identity(self) -> tuple[str, ...]:
        """What makes two events the same one, told twice."""
        about = self.about
        names = (about.kind, about.namespace, about.name, about.uid)
        return (*(name or "" for name in names), self.type, self.reason, self.message)


@dataclass(slots=True)
class _Memory:
    """The events that were written most recently."""

    events: OrderedDict[tuple[str, ...], _Told] = field(default_factory=OrderedDict)

    def find(self, identity: tuple[str, ...]) -> _Told | None:
        found = self.events.get(identity)
        if found is not None:
            self.events.move_to_end(identity)
        return found

    def keep(self, event: _Told) -> None:
        self.events[event.identity] = event
        if len(self.events) > _REMEMBERED:
            self.events.popitem(last=False)


class EventRecorder:
    """Writes events about objects, in the name of a component.

    Use it as `async with`, or `start` and `close` it. `record` may be called from any thread, and before `start`. When
    more than 1000 events wait, further ones are dropped, with a line in the log: events explain, they do not account.
    """

    def __init__(
        self, client: Client, component: str, *, instance: str | None = None, clock: Clock | None = None
    ) -> None:
        if not component:
            raise ValueError("an event recorder needs the name of the component that records")
        self.component = component
        self.instance = instance or f"{component}-{socket.gethostname()}"
        self._client = client
        self._clock = clock or SystemClock()
        self._line: asyncio.Queue[_Told] = asyncio.Queue(_LONGEST_LINE)
        self._memory = _Memory()
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.get_ident()
        self._dropped = 0

    def record(
        self,
        about: Object | ObjectReference,
        reason: str,
        message: str,
        type: EventType = "Normal",  # noqa: A002
    ) -> None:
        """Tell something about an object. `reason` is one CamelCase word, for programs; `message` is for people."""
        if type not in ("Normal", "Warning"):
            raise ValueError(f'the type of an event is "Normal" or "Warning", not {type!r}')
        if not reason:
            raise ValueError("an event needs a reason: a short CamelCase word, such as Synced")
        event = _Told(
            reference_to(about), type, reason[:_LONGEST_REASON], message[:_LONGEST_MESSAGE], self._clock.now()
        )
        if self._loop is not None and threading.get_ident() != self._thread:
            with contextlib.suppress(RuntimeError):  # that loop is closed: nobody would write it any more
                self._loop.call_soon_threadsafe(self._put, event)
        else:
            self._put(event)

    def start(self) -> None:
        """Begin to write."""
        if self._task is None:
            self._loop = asyncio.get_running_loop()
            self._thread = threading.get_ident()
            self._task = self._loop.create_task(self._write_all(), name=f"events of {self.component}")

    async def flush(self) -> None:
        """Wait until everything recorded so far was written, or given up."""
        await asyncio.sleep(0)  # lets in what other threads recorded
        await self._line.join()

    async def close(self, timeout: float = 2.0) -> None:
        """Write what waits, for a short while, and stop."""
        task, self._task = self._task, None
        if task is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self.flush()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _put(self, event: _Told) -> None:
        try:
            self._line.put_nowait(event)
        except asyncio.QueueFull:
            self._dropped += 1
            if self._dropped == 1:
                logger.warning("too many events wait to be written; further ones are dropped until the line is shorter")

    async def _write_all(self) -> None:
        while True:
            event = await self._line.get()
            try:
                await self._write(event)
            except Exception as error:  # an event must never hurt anything, whatever is wrong with it
                logger.warning(
                    "event %s for %s %s was not written: %s", event.reason, event.about.kind, event.about.name, error
                )
            finally:
                self._line.task_done()
                if self._dropped and self._line.empty():
                    logger.warning("%d events were dropped", self._dropped)
                    self._dropped = 0

    async def _write(self, event: _Told) -> None:
        told = self._memory.find(event.identity)
        if told is not None and await self._count_up(told, event.at):
            return
        event.count = 1
        event.name = f"{event.about.name or 'unnamed'}.{secrets.token_hex(8)}"
        await self._client.create(self._event(event))
        self._memory.keep(event)

    async def _count_up(self, told: _Told, at: datetime) -> bool:
        """Raise the count of an event that was written before; False when it is gone (they live for an hour)."""
        patch = MergePatch({"count": told.count + 1, "lastTimestamp": format_time(at)})
        try:
            await self._client.patch(Event, told.name, patch, _namespace(told.about))
        except NotFound:
            return False
        told.count += 1
        return True

    def _event(self, event: _Told) -> Event:
        return Event(
            metadata=ObjectMeta(name=event.name, namespace=_namespace(event.about)),
            involved_object=event.about,
            type=event.type,
            reason=event.reason,
            message=event.message,
            count=1,
            first_timestamp=event.at,
            last_timestamp=event.at,
            source=EventSource(component=self.component),
            reporting_component=self.component,
            reporting_instance=self.instance[:_LONGEST_REASON],
        )


def reference_to(about: Object | ObjectReference) -> ObjectReference:
    """What `kubectl describe` finds the event by."""
    if isinstance(about, ObjectReference):
        return about
    meta = about.metadata
    return ObjectReference(
        api_version=about.api_version,
        kind=about.kind,
        name=meta.name,
        namespace=meta.namespace or None,
        uid=meta.uid or None,
        resource_version=meta.resource_version or None,
    )


def _namespace(about: ObjectReference) -> str:
    return about.namespace or "default"
