"""`HttpResponse`: a response with its head, whose body is still to be read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, aclosing

from kubewright.client._bursts import Bursts
from kubewright.client._connection import Broken, Connection
from kubewright.client._large import LargeBodies
from kubewright.client._pool import Closed, Pool
from kubewright.client._transport import TooLarge
from kubewright.client._unpacking import Unpacking
from kubewright.http import ByteStream

__all__ = ["HttpResponse"]


class HttpResponse:
    """A response. Its connection is reused after the body was read to the end; otherwise it is closed.

    `lost` returns the error for a body that breaks off. The timeout of a stream is reported as a broken connection.
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
        large: LargeBodies,
    ) -> None:
        self.status = connection.status
        self.headers = connection.headers
        self.connection: Connection | None = connection
        self._pool = pool
        self._lost = lost
        self._stream = stream
        self._max_bytes = max_bytes
        self._hold = hold
        self.slot = large.slot

    def warnings(self) -> list[str]:
        """Returns the values of the `Warning` headers."""
        return self.headers.all("Warning")

    def upgraded(self) -> ByteStream:
        """Returns the connection as a stream of bytes, after status 101. Closing the stream closes the connection."""
        connection, self.connection = self.connection, None
        if connection is None:
            raise self._lost(Broken("it is closed"))
        try:
            return connection.upgraded()
        except (Broken, Closed) as error:
            connection.give_up()
            raise self._lost(error) from error

    async def read(self) -> bytes:
        """Returns the whole body. Raises `TooLarge` if it has more than `max_bytes` after decompression.

        Reading it holds the clock, like the request itself. A large body waits while several other large ones are read.
        """
        with self._hold:
            return await self._read()

    async def _read(self) -> bytes:
        whole: bytes | bytearray = b""
        slot = self.slot()
        try:
            async with aclosing(self.chunks()) as pieces:
                async for piece in pieces:
                    await slot.collected(len(whole) + len(piece))
                    if len(whole) + len(piece) > self._max_bytes:
                        whole = piece = b""  # the traceback of the error would keep them in memory
                        raise TooLarge(
                            f"the response body exceeds {self._max_bytes} bytes: ask for less, for example with "
                            "page_size, or raise ClientConfig.max_response_bytes"
                        )
                    if not whole:
                        whole = piece
                        continue
                    if isinstance(whole, bytes):
                        whole = bytearray(whole)  # not a list: pieces of a few bytes would take many times their size
                    whole += piece
        finally:
            slot.leave()
        return bytes(whole)  # no copy if it is bytes

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yields the body as it arrives."""
        connection, packed = self.connection, "Content-Encoding" in self.headers
        if connection is None:
            return
        bursts = Bursts(connection.transport, asyncio.get_running_loop())
        try:
            unpacking = Unpacking(self.headers["Content-Encoding"]) if packed else None
            # After `close`, the connection may belong to another request.
            while self.connection is connection and (piece := await connection.piece()):
                bursts.arrived(len(piece))
                if unpacking is None:
                    yield piece
                else:
                    for part in unpacking.pieces(piece):
                        yield part
                        await asyncio.sleep(0)  # a piece may have a thousand parts: other tasks run between them
                del piece  # otherwise it stays in memory until the next one arrives
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
        """Closes the response without reading the rest of the body."""
        if self.connection is not None:
            connection, self.connection = self.connection, None
            self._pool.give_back(connection)
