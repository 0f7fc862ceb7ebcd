"""Watches: the changes of a kind as they happen."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Generic, Literal, TypeAlias, TypeVar, cast

import msgspec

from kubewright.api import Object, decode
from kubewright.api.wire import UNREADABLE
from kubewright.backoff import Backoff
from kubewright.client._errors import (
    ApiError,
    NotKubernetes,
    ResponseTooLarge,
    Status,
    error_from,
    error_from_loss,
)
from kubewright.client._lines import Lines
from kubewright.client._transport import ConnectionLost, Response
from kubewright.clock import Clock

__all__ = ["EventType", "Watch", "WatchEvent", "WatchStream"]

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


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


_event_decoder = msgspec.json.Decoder(_Event)
_head_decoder = msgspec.json.Decoder(_Head)
_status_decoder = msgspec.json.Decoder(Status)


class WatchStream:
    """The lines of one watch request, in batches as they arrive, for consumers of bytes such as the cache.

    Raises `ResponseTooLarge` for an event of more than `max_event_bytes`.
    """

    def __init__(self, response: Response, request: str, *, max_event_bytes: int) -> None:
        self._response = response
        self._request = request
        self._max_event_bytes = max_event_bytes

    async def batches(self) -> AsyncIterator[list[bytes]]:
        """Yields whole lines, each a JSON event and its newline, in one list for each received piece.

        Ends with the watch.
        """
        buffer = Lines()
        try:
            async for chunk in self._response.chunks():
                lines = buffer.feed(chunk)
                del chunk  # a large list arrives in pieces of megabytes: none is kept while waiting for the next
                if lines:
                    yield lines
                del lines
                if buffer.pending > self._max_event_bytes:
                    message = (
                        f"an event of the watch exceeds {self._max_event_bytes} bytes: "
                        "raise ClientConfig.max_watch_event_bytes"
                    )
                    raise ResponseTooLarge(Status(reason="ResponseTooLarge", message=message), self._request)
        except ConnectionLost as error:
            raise error_from_loss(error, self._request) from error
        finally:
            self._response.close()

    def may_stall(self) -> bool:
        """Whether it may stall silently, as a network connection may. The watch of an embedded cluster does not."""
        asked: Callable[[], bool] | None = getattr(self._response, "may_stall", None)
        return asked is None or asked()

    def close(self) -> None:
        """Closes the watch."""
        self._response.close()


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
        backoff = Backoff(first=_FIRST_PAUSE, longest=_LONGEST_PAUSE)
        started = False
        while True:
            heard = failed = False
            try:
                stream = await self._open(self.resource_version)
            except ApiError as error:
                if not started or not _may_pass(error):
                    raise  # a watch that cannot start is an error for the caller
                await self._clock.sleep(backoff.next())
                continue
            started = True
            try:
                async for batch in stream.batches():
                    for line in batch:
                        event = self._event(line)
                        heard = True
                        backoff.reset()
                        if event is not None:
                            yield event
            except TimeoutError as error:
                if self._once:
                    return
                failed = _is_from_server(error)
            except ApiError as error:
                if self._once or not _may_pass(error):
                    raise
                failed = _is_from_server(error)
            finally:
                stream.close()
            if self._once:
                return
            if failed:
                await self._clock.sleep(backoff.next())
                continue
            backoff.reset()
            # A server that ends each watch immediately must not be asked in a busy loop.
            await self._clock.sleep(0 if heard else 1)

    def _event(self, line: bytes) -> WatchEvent[R] | None:
        if line == b"\n":
            return None
        try:
            event = _event_decoder.decode(line)
            if event.type == "ERROR":
                code = _status_decoder.decode(event.object).code
                raise error_from(code, {}, bytes(event.object), request=self._request, verb="watch")
            head = _head_decoder.decode(event.object)
        except UNREADABLE as error:
            message = f"the response is not a watch of Kubernetes objects ({error})"
            raise NotKubernetes(Status(code=200, message=message), self._request) from None
        self.resource_version = head.metadata.resource_version or self.resource_version
        if event.type == "BOOKMARK":
            return None
        return WatchEvent(cast("EventType", event.type), decode(self._kind, bytes(event.object)))


def _is_from_server(error: Exception) -> bool:
    """Whether the server sent the error as an event. Otherwise the connection broke or stalled."""
    return isinstance(error, ApiError) and not isinstance(error.__cause__, ConnectionLost)


def _may_pass(error: ApiError) -> bool:
    """Whether the error is a temporary one of the server, and not one of the request or of a closed client."""
    if isinstance(error, ResponseTooLarge) or (isinstance(error.__cause__, ConnectionLost) and error.__cause__.final):
        return False
    return error.code in (0, 429) or error.code >= 500
