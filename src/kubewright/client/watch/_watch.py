"""`Watch`: the changes of a kind as typed events, resumed after every interruption."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import closing
from typing import Generic, Literal, TypeAlias, TypeVar, cast

import msgspec

from kubewright.api import Object, decode
from kubewright.api.wire import UNREADABLE
from kubewright.backoff import Backoff
from kubewright.client._errors import ApiError, NotKubernetes, ResponseTooLarge, Status
from kubewright.client._transport import ConnectionLost
from kubewright.client.watch._attempts import WatchAttempt, WatchAttempts
from kubewright.client.watch._stream import WatchStream, decode_event, event_error
from kubewright.clock import Clock

__all__ = ["EventType", "Watch", "WatchEvent"]

R = TypeVar("R", bound=Object)
EventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0


class WatchEvent(msgspec.Struct, Generic[R], frozen=True):
    """One change. For DELETED, the object is its last state."""

    type: EventType
    object: R


class _Metadata(msgspec.Struct):
    resource_version: str = msgspec.field(name="resourceVersion", default="")


class _Head(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_head_decoder = msgspec.json.Decoder(_Head)


class Watch(Generic[R]):
    """The result of `Client.watch`: iterate with `async for`.

    The watch resumes where it stopped if the connection breaks, or if the server ends it, stalls or fails, however long
    the server is away. It raises `Expired` if the server has expired that resourceVersion: list again. With a timeout
    it ends instead. `resource_version` is the last one that was received.
    """

    def __init__(
        self,
        kind: type[R],
        open_stream: Callable[[str], Awaitable[WatchStream]],
        *,
        resource_version: str,
        once: bool,
        clock: Clock,
        request: str,
    ) -> None:
        self._kind = kind
        self._open = open_stream
        self._once = once
        self._clock = clock
        self._request = request
        self.resource_version = resource_version

    async def __aiter__(self) -> AsyncGenerator[WatchEvent[R], None]:
        resumption = _Resumption()
        async for attempt in WatchAttempts(self._clock, resumption.delay_after):
            with attempt, closing(await self._open(self.resource_version)) as stream:
                attempt.opened()
                async for batch in stream.batches():
                    for line in batch:
                        event = self._event(line)
                        resumption.heard()
                        if event is not None:
                            yield event
            if self._once:
                if attempt.error is None or (attempt.was_opened and isinstance(attempt.error, TimeoutError)):
                    return
                raise attempt.error

    def _event(self, line: bytes) -> WatchEvent[R] | None:
        if line == b"\n":
            return None
        try:
            event = decode_event(line)
            if event.type == "ERROR":
                raise event_error(bytes(event.object), self._request)
            head = _head_decoder.decode(event.object)
        except UNREADABLE as error:
            message = f"the response is not a watch of Kubernetes objects ({error})"
            raise NotKubernetes(Status(code=200, message=message), self._request) from None
        self.resource_version = head.metadata.resource_version or self.resource_version
        if event.type == "BOOKMARK":
            return None
        return WatchEvent(cast("EventType", event.type), decode(self._kind, bytes(event.object)))


class _Resumption:
    """Decides after each attempt whether a watch resumes, and when."""

    def __init__(self) -> None:
        self._backoff = Backoff(first=_FIRST_PAUSE, longest=_LONGEST_PAUSE)
        self._started = False
        self._heard = False

    def heard(self) -> None:
        """Records that the server has sent an event."""
        self._heard = True
        self._backoff.reset()

    async def delay_after(self, attempt: WatchAttempt) -> float:
        """Returns how many seconds to wait. Raises an error that no further attempt can fix."""
        heard, self._heard = self._heard, False
        error = attempt.error
        if error is not None and not self._may_resume_after(error, attempt):
            raise error
        self._started = self._started or attempt.was_opened
        if not attempt.was_opened or (error is not None and _is_from_server(error)):
            return self._backoff.next()
        self._backoff.reset()
        # A server that ends each watch immediately must not be asked in a busy loop.
        return 0.0 if heard else 1.0

    def _may_resume_after(self, error: Exception, attempt: WatchAttempt) -> bool:
        if attempt.was_opened and isinstance(error, TimeoutError):
            return True
        # A watch that cannot start is an error for the caller.
        return isinstance(error, ApiError) and (self._started or attempt.was_opened) and _may_pass(error)


def _is_from_server(error: Exception) -> bool:
    """Whether the server sent the error as an event. Otherwise the connection broke or stalled."""
    return isinstance(error, ApiError) and not isinstance(error.__cause__, ConnectionLost)


def _may_pass(error: ApiError) -> bool:
    """Whether the error is a temporary one of the server, and not one of the request or of a closed client."""
    if isinstance(error, ResponseTooLarge) or (isinstance(error.__cause__, ConnectionLost) and error.__cause__.final):
        return False
    return error.is_temporary
