"""`Proxy`: a TCP proxy for kube-apiserver that can break connections.

It forwards bytes and does not terminate TLS. It runs in its own thread, for plain and async callers, and its methods
take effect before they return.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from pathlib import Path
from typing import Self, TypeVar

from kubewright.tasks import LoopThread, stop_accepting

__all__ = ["Proxy"]

_Result = TypeVar("_Result")
_CHUNK = 1 << 16
# SO_LINGER with 0 seconds: closing resets the connection, as a firewall or a crashed machine would.
_RESET = struct.pack("ii", 1, 0)


class Proxy:
    """Listens on its own port and forwards to `target_port` on this machine.

    `cut` resets open connections. `stall` keeps them open but forwards nothing until `resume`. While `refusing` is
    true, new connections are reset. `kubeconfig` is the admin's kubeconfig that uses this proxy.
    """

    kubeconfig: Path

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._open: dict[asyncio.Task[None], list[asyncio.StreamWriter]] = {}
        self._accepted = 0
        self.refusing = False
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._thread = LoopThread("kubewright-proxy")
        self._server = self._thread.call(asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_CHUNK))
        self.port: int = self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        """The URL of the proxy."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._open)

    @property
    def accepted(self) -> int:
        """The number of accepted connections so far, without refused ones."""
        return self._accepted

    def cut(self) -> int:
        """Resets every open connection on both sides, and returns their number. New ones are accepted."""
        return self._thread.call(self._cut())

    def stall(self) -> None:
        """Keeps connections open and accepts new ones, but forwards nothing, like a lost route."""
        self._thread.call(self._set_flowing(False))

    def resume(self) -> None:
        """Forwards again after `stall`, starting with the delayed bytes."""
        self._thread.call(self._set_flowing(True))

    def close(self) -> None:
        """Resets every connection and stops listening. Does nothing if it is already closed."""
        if not self._thread.closed:
            self._thread.call(self._close())
            self._thread.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refusing:
            _reset(writer)
            return
        self._accepted += 1
        ends = [writer]
        task = asyncio.get_running_loop().create_task(self._relay(reader, writer, ends))
        self._open[task] = ends
        # Here and not in `_relay`: a task that is canceled before it starts runs none of its code.
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        for end in self._open.pop(task):
            _reset(end)

    async def _relay(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ends: list[asyncio.StreamWriter]
    ) -> None:
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._target_port, limit=_CHUNK)
            ends.append(server_writer)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._forward(reader, server_writer))
                both.create_task(self._forward(server_reader, writer))
            for end in ends:
                end.close()
                await end.wait_closed()
        except* OSError:
            pass  # one side was reset, so the other is reset, too

    async def _forward(self, source: asyncio.StreamReader, destination: asyncio.StreamWriter) -> None:
        while received := await source.read(_CHUNK):
            await self._flowing.wait()
            destination.write(received)
            await destination.drain()
        await self._flowing.wait()
        with contextlib.suppress(OSError):
            destination.write_eof()

    async def _cut(self) -> int:
        cut = list(self._open)
        for handler in cut:
            for end in self._open[handler]:
                _reset(end)
            handler.cancel()
        await asyncio.gather(*cut, return_exceptions=True)
        return len(cut)

    async def _set_flowing(self, flowing: bool) -> None:
        if flowing:
            self._flowing.set()
        else:
            self._flowing.clear()

    async def _close(self) -> None:
        self.refusing = True
        await stop_accepting(self._server)
        await self._cut()
        await self._server.wait_closed()
        await asyncio.sleep(0)  # a reset connection is closed in the next turn of the event loop


def _reset(end: asyncio.StreamWriter) -> None:
    connection = end.get_extra_info("socket")
    if connection is not None:
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    end.transport.abort()
