"""`Output`: the output of one run of a container, to its log and to attached clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from kubewright.kubelet import ContainerLog, LocalProcess, LogOptions
from kubewright.streaming import Channel

__all__ = ["Attachment", "Output"]

_DRAIN_SECONDS: Final = 1.0
_MAX_PIECES: Final = 256


class Output:
    """Carries output from a process to its log and to attachments until the process ends."""

    def __init__(self, process: LocalProcess, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.process = process
        self.log = ContainerLog(path)
        self._attachments: set[Attachment] = set()
        self._distributing = asyncio.get_running_loop().create_task(self._distribute())

    async def _distribute(self) -> None:
        async for channel, data in self.process.output():
            self.log.write("stdout" if channel is Channel.STDOUT else "stderr", data)
            for attachment in [*self._attachments]:
                attachment.put(channel, data)

    async def finish(self) -> None:
        """Stores what the ended process has written, and closes the log."""
        # Another process may hold the pipes open; its output is not part of the container.
        await asyncio.wait([self._distributing], timeout=_DRAIN_SECONDS)
        self._distributing.cancel()
        await asyncio.gather(self._distributing, return_exceptions=True)
        await self.process.close()
        self.log.close()
        for attachment in [*self._attachments]:
            attachment.end()

    def attach(self) -> Attachment:
        """Returns a session with the process."""
        made = Attachment(self.process, self._attachments)
        self._attachments.add(made)
        return made

    async def tail(self, lines: int, most: int) -> str:
        """Returns the end of the log."""
        pieces = [piece async for piece in self.log.read(LogOptions(tail_lines=lines))]
        return b"".join(pieces)[-most:].decode(errors="replace")


class Attachment:
    """A client that is attached to the main process of a container. The process survives it."""

    def __init__(self, process: LocalProcess, others: set[Attachment]) -> None:
        self._process = process
        self._others = others
        self._pieces: asyncio.Queue[tuple[Channel, bytes] | None] = asyncio.Queue()

    def put(self, channel: Channel, data: bytes) -> None:
        """Passes output on. A client that does not read is disconnected, so that it does not stop the container."""
        if self._pieces.qsize() < _MAX_PIECES:
            self._pieces.put_nowait((channel, data))
        else:
            self.end()

    def end(self) -> None:
        """Ends the output."""
        self._others.discard(self)
        self._pieces.put_nowait(None)

    async def output(self) -> AsyncIterator[tuple[Channel, bytes]]:
        """See `SessionProcess`."""
        while (piece := await self._pieces.get()) is not None:
            yield piece

    async def write(self, data: bytes) -> None:
        """See `SessionProcess`."""
        await self._process.write(data)

    def close_stdin(self) -> None:
        """See `SessionProcess`."""
        self._process.close_stdin()

    def resize(self, columns: int, rows: int) -> None:
        """See `SessionProcess`."""
        self._process.resize(columns, rows)

    async def wait(self) -> int:
        """See `SessionProcess`."""
        return await self._process.wait()

    async def close(self) -> None:
        """Detaches from the process."""
        self.end()
