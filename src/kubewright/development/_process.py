"""`OperatorProcess`: controls the process of the operator."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, Protocol, Self

import msgspec

from kubewright.development._orders import Orders
from kubewright.development.messages import Logged, Message, Output

__all__ = ["OperatorProcess"]

_CHUNK: Final = 1 << 16
_ASK_AGAIN: Final = 3.0
_KILL: Final = 4.0


class _Reader(Protocol):
    async def read(self, size: int, /) -> bytes: ...


class OperatorProcess:
    """A process that runs the program, in its own session: signals of the terminal do not reach it.

    Calls `notify` with its messages, log lines and output, each in order. It ends by itself when this process is gone.
    """

    def __init__(self, process: asyncio.subprocess.Process, readers: list[asyncio.Task[None]]) -> None:
        self._process = process
        self._readers = readers

    @classmethod
    async def start(cls, orders: dict[str, Any], notify: Callable[[Message], None]) -> Self:
        """Starts the process with these `Orders`, after adding the channel."""
        near, far = socket.socketpair()
        with far:
            near.setblocking(False)
            complete = Orders(**orders, channel=far.fileno())
            process = await asyncio.create_subprocess_exec(
                # -P, because the folder may be a package: Python would import its operator.py as the standard module.
                *(sys.executable, "-P", "-m", "kubewright.development._program"),
                msgspec.json.encode(complete).decode(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=[far.fileno()],
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
            )
        assert process.stdout is not None
        assert process.stderr is not None
        messages, writer = await asyncio.open_connection(sock=near)
        readers = [
            asyncio.create_task(_read_messages(messages, notify, writer)),
            asyncio.create_task(_pass_on(process.stdout, lambda line: notify(Output(text=line)))),
            asyncio.create_task(_pass_on(process.stderr, lambda line: notify(_log_line(line)))),
        ]
        return cls(process, readers)

    async def wait(self) -> int:
        """Returns the exit code, after all output of the process was passed on."""
        code = await self._process.wait()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)  # children of the program
        await asyncio.wait(self._readers)
        for reader in self._readers:
            reader.result()
        return code

    async def stop(self) -> int:
        """Stops the process. Running reconciles get time to finish, then are canceled, then the process is killed."""
        for after, number in ((0.0, signal.SIGTERM), (_ASK_AGAIN, signal.SIGTERM), (_KILL, signal.SIGKILL)):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(after):
                    await self._process.wait()
                break
            self._send(number)
        return await self.wait()

    def kill(self) -> None:
        """Kills the process."""
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)


async def _read_messages(reader: _Reader, notify: Callable[[Message], None], writer: asyncio.StreamWriter) -> None:
    decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)
    try:
        async for line in _lines(reader):
            notify(decoder.decode(line))
    finally:
        writer.close()


async def _pass_on(reader: _Reader, notify: Callable[[str], None]) -> None:
    async for line in _lines(reader):
        notify(line.decode(errors="replace"))


async def _lines(reader: _Reader) -> AsyncIterator[bytes]:
    """Yields lines of any length, without their ends."""
    rest = b""
    with contextlib.suppress(ConnectionError):  # a killed process closes the connection
        while chunk := await reader.read(_CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line
    if rest:
        yield rest


def _log_line(line: str) -> Message:
    """Returns a line of the log; None for other output."""
    try:
        found = msgspec.json.decode(line)
        shown = {name: found.get(name, "") for name in ("level", "logger", "message", "kind", "namespace", "name")}
        return msgspec.convert({"type": "log", **shown, "traceback": found.get("traceback", "")}, Logged)
    except (msgspec.DecodeError, AttributeError):  # AttributeError: JSON, but not an object
        return Output(text=line)
