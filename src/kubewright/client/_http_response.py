"""`HttpResponse`: an answer whose head is there, and whose body comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, aclosing

from kubewright.client._bursts import Bursts
from kubewright.client._connection import Broken, Connection
from kubewright.client._pool import Closed, Pool
from kubewright.client._transport import TooLarge
from kubewright.client._unpacking import Unpacking

__all__ = ["HttpResponse"]


class HttpResponse:
    """Its connection is free for others when it was read to the end, or is closed.

    `lost` tells what to raise when there is no end. The time-out of a stream is no time-out for who reads it: the
    connection is at fault then.
    """

    def __init__(
        self,
        connection: Connection,
        pool: Pool,
        lost: Callable[[Exception], Exception],
        *,
        stream: bool,
        max_bytes: int,
        hold: AbstractContextManager[object],
    ) -> None:
        self.status = connection.status
        self.headers = connection.headers
        self.connection: Connection | None = connection
        self._pool = pool
        self._lost = lost
        self._stream = stream
        self._max_bytes = max_bytes
        self._hold = hold

    def warnings(self) -> list[str]:
        """Returns the values of the `Warning` headers."""
        return self.headers.all("Warning")

    async def read(self) -> bytes:
        """Returns the whole body. Raises `TooLarge` when it has more than `max_bytes` after decompression.

        Reading it holds the clock, as asking for it does.
        """
        with self._hold:
            return await self._read()

    async def _read(self) -> bytes:
        whole: bytes | bytearray = b""
        async with aclosing(self.chunks()) as pieces:
            async for piece in pieces:
                if len(whole) + len(piece) > self._max_bytes:
                    whole = piece = b""  # the traceback of the error would keep them
                    raise TooLarge(
                        f"the response body exceeds {self._max_bytes} bytes: ask for less, for example with page_size, "
                        "or raise ClientConfig.max_response_bytes"
                    )
                if not whole:
                    whole = piece
                    continue
                if isinstance(whole, bytes):
                    whole = bytearray(whole)  # not a list: pieces of a few bytes would take many times their size
                whole += piece
        return bytes(whole)  # no copy if it is bytes

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Returns the body as it arrives."""
        connection, packed = self.connection, "Content-Encoding" in self.headers
        if connection is None:
            return
        bursts = Bursts(connection.transport, asyncio.get_running_loop())
        try:
            unpacking = Unpacking(self.headers["Content-Encoding"]) if packed else None
            while self.connection is connection and (piece := await connection.piece()):  # it may be another's by now
                bursts.arrived(len(piece))
                if unpacking is None:
                    yield piece
                else:
                    for part in unpacking.pieces(piece):
                        yield part
                        await asyncio.sleep(0)  # there may be a thousand parts in a piece: other tasks run between them
                del piece  # or it would live until the next one comes
            if unpacking is not None and (rest := unpacking.rest()):
                yield rest
        except (Broken, Closed) as error:
            raise self._lost(error) from error
        except TimeoutError as error:
            if not self._stream:
                raise
            raise self._lost(error) from error
        finally:
            bursts.close()
            self.close()

    def close(self) -> None:
        """Gives up the rest of the body."""
        if self.connection is not None:
            connection, self.connection = self.connection, None
            self._pool.give_back(connection)
