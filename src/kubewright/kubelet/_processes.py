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

__all__ = ["Child", "LocalProcess", "SessionProcess", "Spawn"]

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
        """Detaches from the process when the client has left."""


class Child(Protocol):
    """A process that was started."""

    async def wait(self) -> int:
        """Returns the exit code; 128 and the number of the signal for a process that was killed."""

    def kill(self) -> None:
        """Kills the process group. Does nothing if the process has ended."""


class Spawn(Protocol):
    """Starts a process in its own session. Raises OSError if it cannot be started.

    `descriptors` are standard input, output and error; with `terminal`, each is the terminal that the process gets.
    """

    async def __call__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        directory: str | None,
        descriptors: Sequence[int],
        terminal: bool,
    ) -> Child:
        """Starts the process."""


class LocalProcess:
    """A process in its own session. `close` kills its process group."""

    def __init__(self, child: Child, streams: _Pipes | _Terminal) -> None:
        self.child = child
        self._streams = streams

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        directory: str | None = None,
        stdin: bool = False,
        tty: bool = False,
        spawn: Spawn | None = None,
    ) -> Self:
        """Starts a program with exactly this environment. Raises OSError if it cannot be started.

        `spawn` starts the process. Default: as a child of this process.
        """
        environment = {"TERM": "xterm", **environment} if tty else environment
        streams, descriptors = await _Terminal.open() if tty else await _Pipes.open(stdin=stdin)
        try:
            child = await (spawn or _spawn_here)(
                command, environment=environment, directory=directory, descriptors=descriptors, terminal=tty
            )
        except BaseException:
            streams.close()
            raise
        finally:
            for descriptor in set(descriptors):
                os.close(descriptor)  # reading ends when the last process closes it
        return cls(child, streams)

    def output(self) -> AsyncIterator[tuple[Channel, bytes]]:
        """See `SessionProcess`."""
        return self._streams.output()

    async def write(self, data: bytes) -> None:
        """See `SessionProcess`."""
        await self._streams.write(data)

    def close_stdin(self) -> None:
        """See `SessionProcess`. In a terminal, sends the end-of-file character."""
        self._streams.end_of_file()

    def resize(self, columns: int, rows: int) -> None:
        """See `SessionProcess`."""
        self._streams.resize(columns, rows)

    async def wait(self) -> int:
        """See `SessionProcess`."""
        return await self.child.wait()

    async def close(self) -> None:
        """Kills the process with its children, unless it has ended, and closes its streams."""
        self.child.kill()
        # A child in another session may hold the pipes open.
        self._streams.close()
        ending, cancelled = asyncio.ensure_future(self.child.wait()), None
        while not ending.done():
            try:
                await asyncio.shield(ending)
            except asyncio.CancelledError as error:
                cancelled = error  # later, and that is soon, because the process was killed
        if cancelled is not None:
            raise cancelled


class _OwnChild:
    """A child of this process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def wait(self) -> int:
        code = await self._process.wait()
        return code if code >= 0 else 128 - code

    def kill(self) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


async def _spawn_here(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    directory: str | None,
    descriptors: Sequence[int],
    terminal: bool,
) -> Child:
    stdin, stdout, stderr = descriptors
    process = await asyncio.create_subprocess_exec(
        *((*_IN_TERMINAL, os.ttyname(stdin)) if terminal else ()),
        *command,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=dict(environment),
        cwd=directory,
        start_new_session=True,
    )
    return _OwnChild(process)


class _Pipes:
    """The near ends of the pipes to a process."""

    def __init__(
        self,
        readers: dict[Channel, tuple[asyncio.StreamReader, asyncio.ReadTransport]],
        stdin: asyncio.StreamWriter | None,
    ) -> None:
        self._readers = readers
        self._stdin = stdin

    @classmethod
    async def open(cls, *, stdin: bool) -> tuple[Self, Sequence[int]]:
        """Returns the near ends, and the descriptors of the far ends."""
        made, far = cls({}, None), list[int]()
        try:
            for channel in (Channel.STDOUT, Channel.STDERR):
                near, other = os.pipe()
                far.append(other)
                made._readers[channel] = await _reader(near)
            if not stdin:
                return made, (os.open(os.devnull, os.O_RDONLY), *far)
            first, near = os.pipe()
            far.insert(0, first)
            loop = asyncio.get_running_loop()
            transport, protocol = await loop.connect_write_pipe(
                asyncio.streams.FlowControlMixin, os.fdopen(near, "wb", buffering=0)
            )
            made._stdin = asyncio.StreamWriter(transport, protocol, None, loop)
        except BaseException:  # also if this task is canceled
            made.close()
            for descriptor in far:
                os.close(descriptor)
            raise
        return made, far

    async def output(self) -> AsyncIterator[tuple[Channel, bytes]]:
        reading = {
            asyncio.ensure_future(reader.read(_READ_BYTES)): (channel, reader)
            for channel, (reader, _) in self._readers.items()
        }
        try:
            while reading:
                done, _ = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
                for task in sorted(done, key=lambda each: reading[each][0]):
                    channel, reader = reading.pop(task)
                    if data := task.result():
                        yield channel, data
                        reading[asyncio.ensure_future(reader.read(_READ_BYTES))] = (channel, reader)
        finally:
            for task in reading:
                task.cancel()

    async def write(self, data: bytes) -> None:
        if self._stdin is not None and not self._stdin.is_closing():
            with contextlib.suppress(ConnectionError):  # it does not read any more
                self._stdin.write(data)
                await self._stdin.drain()

    def end_of_file(self) -> None:
        if self._stdin is not None:
            self._stdin.close()

    def resize(self, columns: int, rows: int) -> None:
        """Does nothing: pipes have no size."""

    def close(self) -> None:
        self.end_of_file()
        for reader, transport in self._readers.values():
            transport.close()
            reader.feed_eof()


class _Terminal:
    """The near side of a pseudoterminal."""

    def __init__(self, master: int, reader: asyncio.StreamReader, transport: asyncio.ReadTransport) -> None:
        self._master = master
        self._reader = reader
        self._transport = transport
        self._closed = False

    @classmethod
    async def open(cls) -> tuple[Self, Sequence[int]]:
        """Returns the near side, and the descriptors of the far side."""
        master, slave = os.openpty()
        try:
            reader, transport = await _reader(master)
        except BaseException:
            os.close(slave)
            raise
        return cls(master, reader, transport), (slave, slave, slave)

    async def output(self) -> AsyncIterator[tuple[Channel, bytes]]:
        while data := await self._read():
            yield Channel.STDOUT, data

    async def _read(self) -> bytes:
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


async def _reader(descriptor: int) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    reader = asyncio.StreamReader(limit=_BUFFER_BYTES)
    protocol = asyncio.StreamReaderProtocol(reader)
    file = os.fdopen(descriptor, "rb", buffering=0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, file)
    return reader, transport


async def _writable(loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
    ready = asyncio.Event()
    loop.add_writer(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(descriptor)
