"""`LocalProcess`: a process of this machine with its streams, in a terminal or with pipes."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import signal
import struct
import termios
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final, Protocol, Self

from kubewright.streaming import Channel

__all__ = ["LocalProcess", "SessionProcess"]

_READ_BYTES: Final = 64 * 1024
_BUFFER_BYTES: Final = 256 * 1024
# A session leader without a terminal gets the first one that it opens.
_IN_TERMINAL: Final = ("/bin/sh", "-c", 'exec "$@" <>"$0" >&0 2>&0')


class SessionProcess(Protocol):
    """The process at the far end of exec or attach."""

    def output(self) -> AsyncIterator[tuple[Channel, bytes]]:
        """Yields pieces of stdout and stderr until both are closed."""

    async def write(self, data: bytes) -> None:
        """Writes to stdin, no faster than the process reads. Bytes for a closed stdin are dropped."""

    def close_stdin(self) -> None:
        """Ends stdin."""

    def resize(self, columns: int, rows: int) -> None:
        """Sets the size of the terminal."""

    async def wait(self) -> int:
        """Returns the exit code; 128 and the number of the signal for a process that was killed."""

    async def close(self) -> None:
        """Lets go of the process when the client has left."""


class LocalProcess:
    """A process in its own session. `close` kills its process group."""

    def __init__(self, process: asyncio.subprocess.Process, terminal: _Terminal | None) -> None:
        self._process = process
        self._terminal = terminal

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        directory: str | None = None,
        stdin: bool = False,
        tty: bool = False,
    ) -> Self:
        """Starts a program with exactly this environment. Raises OSError if it cannot be started."""
        if tty:
            return await cls._in_terminal(command, environment, directory)
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(environment),
            cwd=directory,
            start_new_session=True,
            limit=_BUFFER_BYTES,
        )
        return cls(process, None)

    @classmethod
    async def _in_terminal(cls, command: Sequence[str], environment: Mapping[str, str], directory: str | None) -> Self:
        master, slave = os.openpty()
        terminal = await _Terminal.open(master)
        try:
            process = await asyncio.create_subprocess_exec(
                *_IN_TERMINAL,
                os.ttyname(slave),
                *command,
                stdin=slave,  # keeps the terminal open until the shell opens it again
                stdout=slave,
                stderr=slave,
                env={"TERM": "xterm", **environment},
                cwd=directory,
                start_new_session=True,
            )
        except BaseException:
            terminal.close()
            raise
        finally:
            os.close(slave)  # reading ends when the last process closes it
        return cls(process, terminal)

    async def output(self) -> AsyncIterator[tuple[Channel, bytes]]:
        """See `SessionProcess`."""
        if self._terminal is not None:
            while data := await self._terminal.read():
                yield Channel.STDOUT, data
            return
        readers = {Channel.STDOUT: self._process.stdout, Channel.STDERR: self._process.stderr}
        reading = {
            asyncio.ensure_future(reader.read(_READ_BYTES)): (channel, reader)
            for channel, reader in readers.items()
            if reader is not None
        }
        try:
            while reading:
                done, _ = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    channel, reader = reading.pop(task)
                    if data := task.result():
                        yield channel, data
                        reading[asyncio.ensure_future(reader.read(_READ_BYTES))] = (channel, reader)
        finally:
            for task in reading:
                task.cancel()

    async def write(self, data: bytes) -> None:
        """See `SessionProcess`."""
        if self._terminal is not None:
            await self._terminal.write(data)
        elif self._process.stdin is not None and not self._process.stdin.is_closing():
            with contextlib.suppress(ConnectionError):  # it does not read any more
                self._process.stdin.write(data)
                await self._process.stdin.drain()

    def close_stdin(self) -> None:
        """See `SessionProcess`. In a terminal, sends the end-of-file character."""
        if self._terminal is not None:
            self._terminal.end_of_file()
        elif self._process.stdin is not None:
            self._process.stdin.close()

    def resize(self, columns: int, rows: int) -> None:
        """See `SessionProcess`."""
        if self._terminal is not None:
            self._terminal.resize(columns, rows)

    async def wait(self) -> int:
        """See `SessionProcess`."""
        code = await self._process.wait()
        return code if code >= 0 else 128 - code

    async def close(self) -> None:
        """Kills the process with its children, unless it has ended, and closes its streams."""
        if self._terminal is not None:
            self._terminal.close()
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        # A child in another session may hold the pipes, and asyncio would keep them open until it ends.
        self._process._transport.close()  # type: ignore[attr-defined]
        ending, cancelled = asyncio.ensure_future(self._process.wait()), None
        while not ending.done():
            try:
                await asyncio.shield(ending)
            except asyncio.CancelledError as error:
                cancelled = error  # later, and that is soon, because the process was killed
        if cancelled is not None:
            raise cancelled


class _Terminal:
    """The near side of a pseudoterminal."""

    def __init__(self, master: int, reader: asyncio.StreamReader, transport: asyncio.ReadTransport) -> None:
        self._master = master
        self._reader = reader
        self._transport = transport
        self._closed = False

    @classmethod
    async def open(cls, master: int) -> Self:
        reader = asyncio.StreamReader(limit=_BUFFER_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        file = os.fdopen(master, "rb", buffering=0)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, file)
        return cls(master, reader, transport)

    async def read(self) -> bytes:
        try:
            return await self._reader.read(_READ_BYTES)
        except OSError as error:  # Linux reports the end like this
            if error.errno != errno.EIO:
                raise
            return b""

    async def write(self, data: bytes) -> None:
        """Writes to the terminal. Its input buffer holds 4 KiB, so a process that does not read makes this wait."""
        loop, view = asyncio.get_running_loop(), memoryview(data)
        while view and not self._closed:
            try:
                view = view[os.write(self._master, view[:1024]) :]
            except BlockingIOError:
                await _writable(loop, self._master)
            except OSError:
                return  # the process has ended

    def end_of_file(self) -> None:
        if not self._closed:
            with contextlib.suppress(OSError):
                os.write(self._master, b"\x04")

    def resize(self, columns: int, rows: int) -> None:
        if not self._closed:
            with contextlib.suppress(OSError):
                fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._transport.close()


async def _writable(loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
    ready = asyncio.Event()
    loop.add_writer(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(descriptor)
