"""`ContainerLog`: the output of one container in files, in the format that kubelets and log collectors use.

Each line is `TIME STREAM TAG TEXT`, where TAG is P for a part of a long line and F for its end.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from kubewright.rotating_file import RotatingFile

__all__ = ["ContainerLog", "LogOptions", "OutputName"]

logger = logging.getLogger("kubewright.kubelet")

OutputName: TypeAlias = Literal["stdout", "stderr"]

MAX_BYTES: Final = 10 * 2**20
MAX_OLD_FILES: Final = 2
_MAX_LINE_BYTES: Final = 16 * 1024  # longer lines are stored in parts, as containerd does
_READ_BYTES: Final = 256 * 1024
_MAX_TAIL: Final = 100_000


class LogOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a log that a client requests."""

    follow: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    since: datetime | None = None
    limit_bytes: int | None = None
    stream: OutputName | None = None


class ContainerLog:
    """The log of one run of a container. Files are rotated; followers are woken by `write` and `close`.

    A full disk loses lines and stops neither the container nor the node.
    """

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES, max_old_files: int = MAX_OLD_FILES) -> None:
        self._path = path
        self._max_old_files = max_old_files
        self._file = RotatingFile(
            path, logger=logger, max_bytes=max_bytes, max_old_files=max_old_files, what="container log"
        )
        self._partial = {"stdout": bytearray(), "stderr": bytearray()}
        self._changed = asyncio.Event()
        self._closed = False

    def write(self, stream: OutputName, data: bytes, now: datetime | None = None) -> None:
        """Stores output as it arrives. A line is stored when it is complete, or longer than 16 KiB."""
        partial = self._partial[stream]
        partial += data
        *lines, rest = bytes(partial).split(b"\n")
        partial[:] = rest
        time = (now or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%S.%f000Z").encode()
        for line in lines:
            self._store(time, stream, line, end=True)
        while len(partial) >= _MAX_LINE_BYTES:
            self._store(time, stream, bytes(partial[:_MAX_LINE_BYTES]), end=False)
            del partial[:_MAX_LINE_BYTES]
        self._notify()

    def close(self) -> None:
        """Stores incomplete lines and ends followers: the container has ended."""
        for stream, partial in self._partial.items():
            if partial:
                self.write(stream, b"\n")  # type: ignore[arg-type]  # the keys are such names
        self._closed = True
        self._file.close()
        self._notify()

    def remove(self) -> None:
        """Deletes the files of a closed log. A reader keeps the file that it has open."""
        for path in (self._path, *self._old_files()):
            path.unlink(missing_ok=True)

    async def read(self, options: LogOptions) -> AsyncIterator[bytes]:
        """Yields the log as bytes, oldest first; with `follow`, until the container ends."""
        left = options.limit_bytes
        position = _Position(self._path)
        try:
            async with aclosing(self._lines(position, options)) as lines:
                async for line in lines:
                    if left is None:
                        yield line
                        continue
                    yield line[:left]
                    left -= len(line)
                    if left <= 0:
                        return
        finally:
            position.close()

    async def _lines(self, position: _Position, options: LogOptions) -> AsyncGenerator[bytes, None]:
        selected = (_shown(line, options) for line in self._stored(position))
        if options.tail_lines is None:
            for line in selected:
                if line is not None:
                    yield line
        else:
            kept = deque((line for line in selected if line is not None), maxlen=min(options.tail_lines, _MAX_TAIL))
            for line in kept:
                yield line
        if options.follow:
            async for line in self._following(position, options):
                yield line

    async def _following(self, position: _Position, options: LogOptions) -> AsyncIterator[bytes]:
        while True:
            closed, changed = self._closed, self._changed
            for line in position.more():
                if (shown := _shown(line, options)) is not None:
                    yield shown
            if closed:
                return
            await changed.wait()

    def _notify(self) -> None:
        changed, self._changed = (
            self._changed,
            asyncio.Event(),
        )  # a new one for each change: there may be many followers
        changed.set()

    def _stored(self, position: _Position) -> Iterator[bytes]:
        for old in self._old_files():
            if old.exists():
                with old.open("rb") as file:
                    yield from file
        yield from position.more()

    def _old_files(self) -> list[Path]:
        return [Path(f"{self._path}.{number}") for number in range(self._max_old_files, 0, -1)]

    def _store(self, time: bytes, stream: OutputName, text: bytes, *, end: bool) -> None:
        for begin in range(0, max(len(text), 1), _MAX_LINE_BYTES):
            part = text[begin : begin + _MAX_LINE_BYTES]
            tag = b"F" if end and begin + _MAX_LINE_BYTES >= len(text) else b"P"
            self._file.write(b"%b %b %b %b\n" % (time, stream.encode(), tag, part))


class _Position:
    """A place in the current file, which may be rotated while it is read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("rb") if path.exists() else None
        self._rest = b""

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()

    def more(self) -> Iterator[bytes]:
        """Yields the complete lines that were written since the last call, also those before a rotation."""
        yield from self._read()
        if self._rotated():
            yield from self._read()

    def _read(self) -> Iterator[bytes]:
        while self._file is not None and (data := self._file.read(_READ_BYTES)):
            *lines, self._rest = (self._rest + data).split(b"\n")
            yield from (line + b"\n" for line in lines)

    def _rotated(self) -> bool:
        try:
            found = self._path.stat()
        except OSError:  # the log was removed
            return False
        is_new = self._file is None or not os.path.samestat(os.fstat(self._file.fileno()), found)
        if is_new:
            if self._file is not None:
                self._file.close()
            self._file = self._path.open("rb")
        return is_new


def _shown(line: bytes, options: LogOptions) -> bytes | None:
    """Returns a stored line as the client wants it, or None."""
    time, stream, tag, text = line.split(b" ", 3)
    if options.stream is not None and stream.decode() != options.stream:
        return None
    if options.since is not None and _time(time) < options.since:
        return None
    shown = text if tag == b"F" else text[:-1]  # a part of a line has no line break
    return time + b" " + shown if options.timestamps else shown


def _time(text: bytes) -> datetime:
    return datetime.fromisoformat(f"{text[:26].decode()}+00:00")
