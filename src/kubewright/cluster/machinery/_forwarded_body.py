"""`ForwardedBody`: the body of a response that another server sends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from kubewright.client import ConnectionLost, HttpResponse

__all__ = ["ForwardedBody"]


class ForwardedBody:
    """A stream of an `ApiResponse` from another server. If that server closes the connection early, the stream ends."""

    def __init__(self, response: HttpResponse) -> None:
        self._response = response
        self._callbacks: list[Callable[[], None]] = []

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yields the body as it arrives."""
        try:
            async for chunk in self._response.chunks():
                yield chunk
        except ConnectionLost:
            pass
        finally:
            self.close()

    def may_stall(self) -> bool:
        """Returns True: the other server is not under the control of this cluster."""
        return True

    def close(self) -> None:
        """Ends the stream."""
        self._response.close()
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def when_closed(self, callback: Callable[[], None]) -> None:
        """Calls `callback` once when the stream has ended."""
        self._callbacks.append(callback)
