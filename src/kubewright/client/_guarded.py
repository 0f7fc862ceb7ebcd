"""Bodies that ask once more before they are written: `Request.before_send` on aiohttp.

Between handing a request to aiohttp and its first byte lie credentials, a connection, and turns of the event loop. A
body is written after all of them, together with the head, so what it refuses never begins.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import BytesIOPayload, BytesPayload, Payload

__all__ = ["Guarded", "guarded"]


class Guarded(Payload):
    """A body with a question before it. `refusal` is what the question raised."""

    refusal: Exception | None = None
    before_send: Callable[[], None]

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        """Ask, then write."""
        try:
            self.before_send()
        except Exception as refusal:
            self.refusal = refusal
            raise
        await super().write_with_length(writer, content_length)


class _GuardedBytes(Guarded, BytesPayload):
    pass


class _GuardedFile(Guarded, BytesIOPayload):
    pass


def guarded(data: bytes | io.BytesIO | None, before_send: Callable[[], None]) -> Guarded:
    """The body; an empty one where there is none, so that there is something to write."""
    options: dict[str, Any] = {"content_type": "application/octet-stream"}  # the request's own header wins
    body = _GuardedFile(data, **options) if isinstance(data, io.BytesIO) else _GuardedBytes(data or b"", **options)
    body.before_send = before_send
    return body
