"""`PortForward`: connections to a port of a pod, through the API server."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self

from kubewright.http import ByteStream
from kubewright.streaming import SpdyError, SpdySession, SpdyStream, WebSocket, WebSocketBytes
from kubewright.tasks import stop_accepting

__all__ = ["PortForward"]

logger = logging.getLogger("kubewright.client")

_MAX_ERROR_BYTES: Final = 4096
_READ_BYTES: Final = 64 * 1024


class PortForward:
    """A port of a pod on this machine, while the context lasts.

        async with client.port_forward("web", 8080) as forward:
            await fetch(f"http://127.0.0.1:{forward.port}/")

    Listens on loopback only. `connect` opens one connection without a local port. Every connection uses the same
    WebSocket; when that breaks, all fail and `closed` is set.
    """

    def __init__(self, opening: Callable[[], Awaitable[WebSocket]], *, port: int, local_port: int, pod: str) -> None:
        self.port = local_port
        """The local port; chosen by the system for 0."""
        self.closed = asyncio.Event()
        """Set when the connection to the pod has ended."""
        self._opening = opening
        self._pod_port = port
        self._pod = pod
        self._numbers = itertools.count()
        self._session: SpdySession | None = None
        self._running: asyncio.Task[None] | None = None
        self._server: asyncio.Server | None = None
        self._piping: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._session = SpdySession(WebSocketBytes(await self._opening()), is_client=True)
        self._running = asyncio.get_running_loop().create_task(self._run(self._session))
        try:
            self._server = await asyncio.start_server(self._accepted, "127.0.0.1", self.port)
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            await stop_accepting(self._server)
        for task in self._piping:
            task.cancel()
        if self._session is not None:
            self._session.close()
        await asyncio.gather(*self._piping, *filter(None, [self._running]), return_exceptions=True)

    async def connect(self) -> ByteStream:
        """Opens one connection to the port of the pod. Raises ConnectionError, also later if the pod refuses it."""
        if self._session is None:
            raise RuntimeError("enter the context first: `async with client.port_forward(...) as forward`")
        shared = {"port": str(self._pod_port), "requestid": str(next(self._numbers))}
        errors = await self._session.open({"streamtype": "error", **shared})
        await errors.write_eof()
        data = await self._session.open({"streamtype": "data", **shared})
        return _Connection(data, errors, f"port {self._pod_port} of pod {self._pod}")

    async def _run(self, session: SpdySession) -> None:
        try:
            await session.run()
        except ConnectionError as error:
            if not self.closed.is_set() and self._server is not None and self._server.is_serving():
                logger.warning("forwarding port %d of pod %s ended: %s", self._pod_port, self._pod, error)
        finally:
            self.closed.set()

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._pipe(reader, writer))
        self._piping.add(task)
        task.add_done_callback(self._piping.discard)
        # Here and not in `_pipe`: a task that is canceled before it starts runs none of its code.
        task.add_done_callback(lambda _: None if writer.is_closing() else writer.transport.abort())

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            stream = await self.connect()
            assert isinstance(stream, _Connection)
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(_upload(reader, stream))
                    group.create_task(_download(stream, writer))
            finally:
                stream.close()
        except* ConnectionError as errors:
            logger.warning(
                "a connection to port %d of pod %s failed: %s", self._pod_port, self._pod, errors.exceptions[0]
            )


async def _upload(reader: asyncio.StreamReader, stream: _Connection) -> None:
    while data := await reader.read(_READ_BYTES):
        await stream.write(data)
    await stream.write_eof()


async def _download(stream: _Connection, writer: asyncio.StreamWriter) -> None:
    while data := await stream.read():
        writer.write(data)
        await writer.drain()
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


class _Connection:
    """The data stream of one connection. An error of the pod's side is raised when it is read or written."""

    def __init__(self, data: SpdyStream, errors: SpdyStream, target: str) -> None:
        self._data = data
        self._target = target
        self._failure: str = ""
        self._watching = asyncio.get_running_loop().create_task(self._watch(errors))

    async def read(self) -> bytes:
        try:
            data = await self._data.read()
        except SpdyError:
            self._check()
            raise
        if not data:
            await asyncio.wait([self._watching])  # the error arrives on another stream, maybe after the end
            self._check()
        return data

    async def write(self, data: bytes) -> None:
        self._check()
        await self._data.write(data)

    async def write_eof(self) -> None:
        await self._data.write_eof()

    def close(self) -> None:
        self._data.close()
        self._watching.cancel()

    async def _watch(self, errors: SpdyStream) -> None:
        text = b""
        with contextlib.suppress(ConnectionError):
            while data := await errors.read():
                text = (text + data)[:_MAX_ERROR_BYTES]
        if text:
            self._failure = text.decode("utf-8", "replace")
            self._data.fail(SpdyError("the pod refused the connection"))

    def _check(self) -> None:
        if self._failure:
            raise ConnectionRefusedError(f"cannot connect to {self._target}: {self._failure}")
