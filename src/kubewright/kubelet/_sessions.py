"""The far end of exec, attach and port-forward: channels to a process, SPDY streams to a port."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from kubewright.http import ConnectionStream
from kubewright.kubelet._processes import SessionProcess
from kubewright.streaming import (
    Channel,
    ChannelSocket,
    SpdySession,
    SpdyStream,
    WebSocket,
    WebSocketBytes,
    terminal_size,
)

__all__ = ["exit_status", "failure_status", "serve_port_forward", "serve_session"]

_MAX_PORTS: Final = 128  # streams of one client that wait for their other half


def exit_status(code: int) -> bytes:
    """Returns the status that ends a session: the exit code, as clients expect it."""
    if code == 0:
        return msgspec.json.encode({"metadata": {}, "status": "Success"})
    message = f"command terminated with non-zero exit code: exit status {code}"
    details = {"causes": [{"reason": "ExitCode", "message": str(code)}]}
    return _failure("NonZeroExitCode", message, details=details)


def failure_status(message: str) -> bytes:
    """Returns the status that ends a session whose process could not be started."""
    return _failure("InternalError", message, code=500)


def _failure(reason: str, message: str, **more: Any) -> bytes:
    return msgspec.json.encode({"metadata": {}, "status": "Failure", "message": message, "reason": reason, **more})


async def serve_session(channels: ChannelSocket, process: SessionProcess) -> None:
    """Connects a client with a process until the process ends or the client leaves, and reports the exit code."""
    receiving = asyncio.ensure_future(_receive(channels, process))
    running = asyncio.ensure_future(_run(channels, process))
    try:
        await asyncio.wait([receiving, running], return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            await running
            receiving.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await receiving
            await channels.close()
    except ConnectionError:
        pass  # the client has left
    finally:
        for task in (receiving, running):
            task.cancel()
        try:
            await asyncio.gather(receiving, running, return_exceptions=True)
        finally:  # also if the server stops at this moment
            channels.abort()
            await process.close()


async def _run(channels: ChannelSocket, process: SessionProcess) -> None:
    async for channel, data in process.output():
        await channels.send(channel, data)
    await channels.send(Channel.ERROR, exit_status(await process.wait()))


async def _receive(channels: ChannelSocket, process: SessionProcess) -> None:
    """Handles messages until the client leaves."""
    while (message := await channels.receive()) is not None:
        channel, data = message
        if channel is Channel.STDIN:
            await process.write(data)
        elif channel is Channel.CLOSE and data == bytes((Channel.STDIN,)):
            process.close_stdin()
        elif channel is Channel.RESIZE and (size := terminal_size(data)) is not None:
            process.resize(*size)


async def serve_port_forward(socket: WebSocket, connect: Callable[[int], Awaitable[ConnectionStream]]) -> None:
    """Connects a client of `SPDY/3.1+portforward.k8s.io` with ports until it leaves.

    `connect` opens a connection to a port. An OSError of it is reported to the client.
    """
    forwards = _Forwards(connect)
    session = SpdySession(WebSocketBytes(socket), is_client=False, accept=forwards.accept)
    try:
        with contextlib.suppress(ConnectionError):
            await session.run()
    finally:
        await forwards.close()
        session.close()


class _Forwards:
    """The connections of one client: an error stream and a data stream for each, with one request id."""

    def __init__(self, connect: Callable[[int], Awaitable[ConnectionStream]]) -> None:
        self._connect = connect
        self._halves: dict[tuple[str, str], SpdyStream] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def accept(self, stream: SpdyStream) -> bool:
        kind, port, number = (stream.headers.get(name, "") for name in ("streamtype", "port", "requestid"))
        if kind not in ("error", "data") or not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 2**16):
            return False
        other = self._halves.pop(("data" if kind == "error" else "error", number), None)
        if other is None:
            self._halves[(kind, number)] = stream
            return len(self._halves) <= _MAX_PORTS
        errors, data = (stream, other) if kind == "error" else (other, stream)
        task = asyncio.get_running_loop().create_task(self._forward(int(port), data, errors))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _forward(self, port: int, data: SpdyStream, errors: SpdyStream) -> None:
        with contextlib.suppress(ConnectionError):  # one side has left
            try:
                await self._forward_port(port, data, errors)
            finally:
                await errors.write_eof()
                await data.write_eof()

    async def _forward_port(self, port: int, data: SpdyStream, errors: SpdyStream) -> None:
        try:
            target = await self._connect(port)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            await errors.write(f"an error occurred forwarding port {port}: {reason}".encode())
            return
        try:
            await _join(data, target)
        finally:
            target.close()


async def _join(data: SpdyStream, target: ConnectionStream) -> None:
    """Carries bytes in both directions until the target closes, or both sides have."""
    sending = asyncio.ensure_future(_send(data, target))
    try:
        while piece := await target.read():
            await data.write(piece)
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def _send(data: SpdyStream, target: ConnectionStream) -> None:
    while piece := await data.read():
        await target.write(piece)
    target.write_eof()
