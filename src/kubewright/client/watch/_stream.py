"""`WatchStream`: the lines of one watch request, and the events in them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import msgspec

from kubewright.client._errors import ApiError, ResponseTooLarge, Status, error_from, error_from_loss
from kubewright.client._large import BodySlot, LargeBodies
from kubewright.client._lines import Lines
from kubewright.client._transport import ConnectionLost, Response

__all__ = ["RawEvent", "WatchStream", "decode_event", "event_error"]


class RawEvent(msgspec.Struct, gc=False):
    """One line of a watch: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR, and the JSON of its object."""

    type: str
    object: msgspec.Raw


_event_decoder = msgspec.json.Decoder(RawEvent)
_status_decoder = msgspec.json.Decoder(Status)


def decode_event(line: bytes) -> RawEvent:
    """Returns the event in a line. Raises an error of `UNREADABLE` for anything else."""
    return _event_decoder.decode(line)


def event_error(raw: bytes, request: str) -> ApiError:
    """Returns the exception for the object of an ERROR event. Raises an error of `UNREADABLE` if it is not a Status."""
    code = _status_decoder.decode(raw).code
    return error_from(code, {}, raw, request=request, verb="watch")


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
        buffer, slot = Lines(), self._slot()
        try:
            async for chunk in self._response.chunks():
                lines = buffer.feed(chunk)
                del chunk  # a large list arrives in pieces of megabytes: none is kept while waiting for the next
                if lines:
                    yield lines
                del lines
                await slot.collected(buffer.pending)
                if buffer.pending > self._max_event_bytes:
                    message = (
                        f"an event of the watch exceeds {self._max_event_bytes} bytes: "
                        "raise ClientConfig.max_watch_event_bytes"
                    )
                    raise ResponseTooLarge(Status(reason="ResponseTooLarge", message=message), self._request)
        except ConnectionLost as error:
            raise error_from_loss(error, self._request) from error
        finally:
            slot.leave()
            self._response.close()

    def _slot(self) -> BodySlot:
        found: Callable[[], BodySlot] | None = getattr(self._response, "slot", None)
        return LargeBodies().slot() if found is None else found()

    def may_stall(self) -> bool:
        """Whether it may stall silently, as a network connection may. The watch of an embedded cluster does not."""
        asked: Callable[[], bool] | None = getattr(self._response, "may_stall", None)
        return asked is None or asked()

    def close(self) -> None:
        """Closes the watch."""
        self._response.close()
