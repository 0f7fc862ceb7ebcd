"""`Relays`: the way of each pod to the API server, which a test can cut."""

from __future__ import annotations

import asyncio
from typing import Any


class Relays:
    """The way of each pod to the API server: a port for each. `cut` closes one, as a broken network would."""

    def __init__(self, server: tuple[str, int], count: int) -> None:
        self._server = server
        self._count = count
        self._listeners: dict[int, asyncio.Server] = {}
        self._connections: dict[int, set[asyncio.Task[Any]]] = {}
        self.base = 0

    async def start(self) -> None:
        """Listens on consecutive ports that end with 0, 1, 2 …"""
        for base in range(21000, 32000, 10):
            self.base = base
            try:
                for index in range(self._count):
                    await self.restore(index)
            except OSError:
                await self.stop()
            else:
                return
        raise OSError("no consecutive ports are free")

    async def restore(self, index: int) -> None:
        """Opens the way of one pod."""
        accept = self._relay(self._connections.setdefault(index, set()))
        self._listeners[index] = await asyncio.start_server(accept, "127.0.0.1", self.base + index)

    async def cut(self, index: int) -> None:
        """Closes the way of one pod, and its connections."""
        self._listeners.pop(index).close()
        for task in list(self._connections[index]):
            task.cancel()

    async def stop(self) -> None:
        """Closes all ways."""
        for index in list(self._listeners):
            await self.cut(index)

    def _relay(self, tasks: set[asyncio.Task[Any]]) -> Any:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            try:
                far_reader, far_writer = await asyncio.open_connection(*self._server)
                try:
                    async with asyncio.TaskGroup() as both:
                        both.create_task(_copy(reader, far_writer))
                        both.create_task(_copy(far_reader, writer))
                finally:
                    far_writer.transport.abort()
            except (OSError, asyncio.CancelledError, ExceptionGroup):
                pass
            finally:
                tasks.discard(task)
                writer.transport.abort()

        return accept


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    raise ConnectionResetError("one side has closed the connection")
