"""`SpdySession`: many streams on one `ByteStream`, for port-forwarding."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Final

from kubewright.http import ByteStream
from kubewright.streaming._spdy_frames import (
    Data,
    Frame,
    FrameReader,
    FrameWriter,
    GoAway,
    Ping,
    Reset,
    SpdyError,
    SynReply,
    SynStream,
)

__all__ = ["SpdySession", "SpdyStream"]

_UNREAD_BYTES: Final = 256 * 1024
_PIECE_BYTES: Final = 32 * 1024
_REFUSED, _CANCEL = 3, 5


class SpdyStream:
    """One stream of a session; a `ByteStream` whose directions close separately."""

    def __init__(self, session: SpdySession, number: int, headers: Mapping[str, str]) -> None:
        self.number = number
        self.headers = headers
        """The headers of the frame that opened the stream; names in lower case."""
        self.replied: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._session = session
        self._pieces: list[bytes] = []
        self._unread = 0
        self._changed = asyncio.Event()
        self._received_all = False
        self._sent_all = False
        self._error: Exception | None = None

    async def read(self) -> bytes:
        """Returns the bytes that have arrived, waiting for the first; no bytes at the end. Raises ConnectionError."""
        while not self._pieces:
            if self._error is not None:
                raise self._error
            if self._received_all:
                return b""
            await self._change()
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._unread = 0
        self._changed.set()
        return data

    async def write(self, data: bytes) -> None:
        """Sends bytes. Raises ConnectionError if the stream or its session is closed."""
        for begin in range(0, len(data), _PIECE_BYTES):
            if self._error is not None:
                raise self._error
            if self._sent_all:
                raise SpdyError("the stream is closed for writing")
            await self._session.send(Data(self.number, data[begin : begin + _PIECE_BYTES]))

    async def write_eof(self) -> None:
        """Closes the direction of writing."""
        if not self._sent_all and self._error is None:
            self._sent_all = True
            await self._session.send(Data(self.number, b"", fin=True))
            self._release()

    def close(self) -> None:
        """Closes both directions; the other side is reset if it has not finished."""
        if self._error is None and not (self._sent_all and self._received_all):
            self._session.reset_soon(self.number)
        self.fail(SpdyError("the stream is closed"))

    def fail(self, error: Exception) -> None:
        """Ends both directions with an error."""
        self._error = self._error or error
        if not self.replied.done():
            self.replied.set_exception(error)
            self.replied.exception()  # observed, if no task waits for it
        self._changed.set()
        self._session.forget(self.number)

    async def arrived(self, data: bytes, *, fin: bool) -> None:
        """Keeps a piece; waits while too much is unread."""
        if self._received_all or self._error is not None:
            return
        if data:
            self._pieces.append(data)
            self._unread += len(data)
        self._received_all = fin
        self._changed.set()
        self._release()
        while self._unread > _UNREAD_BYTES and self._error is None:
            await self._change()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _release(self) -> None:
        if self._sent_all and self._received_all:
            self._session.forget(self.number)


class SpdySession:
    """Streams in both directions. `run` reads until the connection ends; it must run for the others to work.

    As in kubectl and the kubelet, streams have no flow control of their own: one that is not read blocks all others.

    Args:
        stream: the connection.
        is_client: a client opens streams with odd numbers, a server with even ones.
        accept: called with each stream that the other side opens. If it is None, or returns False, the stream is
            refused.
        max_streams: open streams at a time; more are refused.
    """

    def __init__(
        self,
        stream: ByteStream,
        *,
        is_client: bool,
        accept: Callable[[SpdyStream], bool] | None = None,
        max_streams: int = 256,
    ) -> None:
        self._stream = stream
        self._accept = accept
        self._max_streams = max_streams
        self._next = 1 if is_client else 2
        self._remote = 0 if is_client else 1  # parity of the numbers of the other side
        self._last_remote = 0
        self._streams: dict[int, SpdyStream] = {}
        self._reader, self._writer = FrameReader(), FrameWriter()
        self._writing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended: Exception | None = None

    async def open(self, headers: Mapping[str, str]) -> SpdyStream:
        """Opens a stream and waits until the other side accepts it. Raises ConnectionError."""
        if self._ended is not None:
            raise self._ended
        if len(self._streams) >= self._max_streams:
            raise SpdyError(f"more than {self._max_streams} streams are open")
        number, self._next = self._next, self._next + 2
        stream = self._streams[number] = SpdyStream(self, number, headers)
        try:
            await self.send(SynStream(number, headers))
            await stream.replied
        except BaseException:
            stream.close()
            raise
        return stream

    async def run(self) -> None:
        """Reads until the other side closes. Raises ConnectionError if the connection or the protocol breaks."""
        try:
            while data := await self._stream.read():
                for frame in self._reader.feed(data):
                    await self._handle(frame)
            self._end(SpdyError("the connection is closed"))
        except BaseException as error:
            self._end(error if isinstance(error, ConnectionError) else SpdyError("the session has ended"))
            raise

    def close(self) -> None:
        """Ends all streams and the connection."""
        self._end(SpdyError("the session was closed"))

    async def send(self, frame: Frame) -> None:
        """Sends a frame; called by the streams."""
        async with self._writing:
            if self._ended is not None:
                raise self._ended
            await self._stream.write(self._writer.encode(frame))

    def reset_soon(self, number: int) -> None:
        """Resets a stream at the other side, without waiting."""
        if self._ended is None and number in self._streams:
            self._in_background(Reset(number, _CANCEL))

    def forget(self, number: int) -> None:
        """Drops a stream that has ended."""
        self._streams.pop(number, None)

    async def _handle(self, frame: Frame) -> None:
        match frame:
            case Data(number, data, fin):
                if (stream := self._streams.get(number)) is not None:
                    await stream.arrived(data, fin=fin)
            case SynStream():
                await self._opened(frame)
            case SynReply(number):
                if (stream := self._streams.get(number)) is not None and not stream.replied.done():
                    stream.replied.set_result(None)
                    if frame.fin:
                        await stream.arrived(b"", fin=True)
            case Reset(number, status):
                if (stream := self._streams.get(number)) is not None:
                    stream.fail(SpdyError(f"the other side reset the stream (status {status})"))
            case Ping(number):
                if number % 2 == self._remote:
                    await self.send(frame)
            case GoAway():
                pass  # open streams go on; the connection ends after them

    async def _opened(self, frame: SynStream) -> None:
        number = frame.stream
        if number % 2 != self._remote or number <= self._last_remote:
            raise SpdyError(f"stream number {number} is not allowed")
        self._last_remote = number
        if self._accept is None or len(self._streams) >= self._max_streams:
            await self.send(Reset(number, _REFUSED))
            return
        stream = self._streams[number] = SpdyStream(self, number, frame.headers)
        stream.replied.set_result(None)
        if not self._accept(stream):
            self.forget(number)
            await self.send(Reset(number, _REFUSED))
            return
        await self.send(SynReply(number, {}))
        if frame.fin:
            await stream.arrived(b"", fin=True)

    def _in_background(self, frame: Frame) -> None:
        task = asyncio.get_running_loop().create_task(self._quietly(frame))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _quietly(self, frame: Frame) -> None:
        with contextlib.suppress(ConnectionError):  # the connection has ended, and the stream with it
            await self.send(frame)

    def _end(self, error: Exception) -> None:
        if self._ended is None:
            self._ended = error
            for stream in list(self._streams.values()):
                stream.fail(error)
            for task in self._tasks:
                task.cancel()
            self._stream.close()
