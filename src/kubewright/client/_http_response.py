"""`HttpResponse`: an answer whose head is there, and whose body comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from kubewright.client._bursts import Bursts
from kubewright.client._connection import Broken, Connection
from kubewright.client._pool import Closed, Pool
from kubewright.client._unpacking import Unpacking

__all__ = ["HttpResponse"]


class HttpResponse:
    """Its connection is free for others when it was read to the end, or is closed.

    `lost` tells what to raise when there is no end. The time-out of a stream is no time-out for who reads it: the
    connection is at fault then.
    """

    def __init__(
        self, connection: Connection, pool: Pool, lost: Callable[[Exception], Exception], *, stream: bool
    ) -> None:
        self.status = connection.status
        self.headers = connection.headers
        self.connection: Connection | None = connection
        self._pool = pool
        self._lost = lost
        self._stream = stream

    def warnings(self) -> list[str]:
        """The values of the `Warning` headers."""
        return self.headers.all("Warning")

    async def read(self) -> bytes:
        """The whole body."""
        pieces = [piece async for piece in self.chunks()]
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives."""
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
        """Give up the rest of the body."""
        if self.connection is not None:
            connection, self.connection = self.connection, None
            self._pool.give_back(connection)
