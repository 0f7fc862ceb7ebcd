"""`Listener`: accepts TCP connections and forwards each to one of several targets."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import itertools
import logging
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from kubewright.cluster.services._targets import Target
from kubewright.lru import LRUMemory
from kubewright.tasks import cancel_and_wait

__all__ = ["Limit", "Listener"]

logger = logging.getLogger("kubewright.services")

_CONNECT_SECONDS: Final = 5.0
_BUFFER_BYTES: Final = 64 * 1024  # that were read and not yet written, in each direction of a connection
_BACKLOG: Final = 256
_PAUSE_SECONDS: Final = 1.0
_MAX_CLIENTS: Final = 10_000  # whose target is remembered
_FALLBACK_HOST: Final = "127.0.0.1"


class Limit:
    """The number of connections that several listeners share."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.used = 0


class Listener:
    """A port that forwards connections.

    Targets are used in turn. If one does not accept the connection, the next one is tried; if none does, the connection
    is reset. Connections stay with their target when targets change. With `affinity`, connections from one address
    lead to the same target while it exists, until none has arrived for that many seconds.
    """

    def __init__(self, targets: Callable[[], Sequence[Target]], limit: Limit, *, affinity: float | None = None) -> None:
        self.address = Target("", 0)
        """The address that it listens on."""
        self._targets = targets
        self._limit = limit
        self._affinity = affinity
        self._chosen: LRUMemory[str, tuple[Target, float]] = LRUMemory(_MAX_CLIENTS)
        self._turns = itertools.count()
        self._listening: socket.socket | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def busy(self) -> bool:
        """Whether the listener has open connections."""
        return bool(self._connections)

    async def listen(self, host: str, port: int) -> bool:
        """Listens at an address. Returns False if it is not available."""
        try:
            await self._listen(host, port)
        except OSError:
            return False
        return True

    async def listen_anywhere(self, host: str, port: int) -> OSError | None:
        """Listens at an address. If it is not available, listens on another port and returns the error.

        The other port is at the same address if this machine has it, else on 127.0.0.1. Raises OSError if there is
        none.
        """
        try:
            await self._listen(host, port)
        except OSError as problem:
            if problem.errno == errno.EADDRNOTAVAIL or not await self.listen(host, 0):
                await self._listen(_FALLBACK_HOST, 0)
            return problem
        return None

    async def close(self) -> None:
        """Stops listening and closes all connections."""
        self.stop_listening()
        await cancel_and_wait(*self._connections)
        await asyncio.sleep(0)  # an aborted connection is closed in the next turn of the event loop

    def stop_listening(self) -> None:
        """Accepts no more connections. Open ones continue."""
        if self._listening is not None:
            listening, self._listening = self._listening, None
            asyncio.get_running_loop().remove_reader(listening)
            listening.close()

    async def _listen(self, host: str, port: int) -> None:
        listening = socket.create_server((host, port), backlog=_BACKLOG)
        listening.setblocking(False)
        self.address = Target(*listening.getsockname())
        self._listening = listening
        self._watch()

    # Connections

    def _watch(self) -> None:
        if self._listening is not None:
            asyncio.get_running_loop().add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        """Accepts a connection. `asyncio.Server` and `sock_accept` lose those that arrive while they are closed."""
        loop = asyncio.get_running_loop()
        assert self._listening is not None
        try:
            connection, _ = self._listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:  # for example too many open files
            logger.warning("cannot accept connections at %s:%d: %s", *self.address, error)
            loop.remove_reader(self._listening)
            loop.call_later(_PAUSE_SECONDS, self._watch)
            return
        if self._limit.used >= self._limit.most:
            logger.warning("refused a connection to %s:%d: %d are open", *self.address, self._limit.used)
            connection.close()
            return
        connection.setblocking(False)
        self._limit.used += 1
        task = loop.create_task(self._forward(connection))
        self._connections.add(task)
        task.add_done_callback(functools.partial(self._ended, connection))

    def _ended(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        connection.close()  # a task that is canceled before it starts runs none of its code
        self._connections.discard(task)
        self._limit.used -= 1
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("forwarding a connection to %s:%d failed", *self.address, exc_info=error)

    async def _forward(self, connection: socket.socket) -> None:
        client = str(connection.getpeername()[0]) if self._affinity is not None else ""
        far = await self._connect(client)
        if far is None:
            return
        async with _streams(far) as (far_reader, far_writer), _streams(connection) as (reader, writer):
            try:
                # A side that has sent everything may still receive: each direction ends on its own.
                async with asyncio.TaskGroup() as group:
                    group.create_task(_copy(reader, far_writer))
                    group.create_task(_copy(far_reader, writer))
                await _finished(far_writer, writer)
            except* OSError:
                pass  # one side broke the connection: both are reset

    async def _connect(self, client: str) -> socket.socket | None:
        """Returns a connection to the next target that accepts one; None if there is none."""
        targets = list(self._targets())
        start = next(self._turns) % len(targets) if targets else 0
        ordered = [*targets[start:], *targets[:start]]
        now = asyncio.get_running_loop().time()
        if self._affinity is not None and (kept := self._chosen.get(client)) is not None:
            target, last = kept
            if target in ordered and now - last < self._affinity:
                ordered.remove(target)
                ordered.insert(0, target)
        for target in ordered:
            try:
                async with asyncio.timeout(_CONNECT_SECONDS):
                    connection = await _opened(target)
            except OSError as error:  # also TimeoutError
                logger.debug("%s:%d does not accept connections: %s", *target, error)
                continue
            if self._affinity is not None:
                self._chosen.put(client, (target, now))
            return connection
        return None


async def _opened(target: Target) -> socket.socket:
    family = socket.AF_INET6 if ":" in target.host else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, target)
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.asynccontextmanager
async def _streams(connection: socket.socket) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Yields the streams of a connection, and resets what is left of it at the end."""
    try:
        reader, writer = await asyncio.open_connection(sock=connection, limit=_BUFFER_BYTES)
    except BaseException:
        connection.close()
        raise
    writer.transport.set_write_buffer_limits(high=_BUFFER_BYTES)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_BUFFER_BYTES):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _finished(*writers: asyncio.StreamWriter) -> None:
    """Waits until everything is sent."""
    for writer in writers:
        writer.close()
    for writer in writers:
        with contextlib.suppress(OSError):
            await writer.wait_closed()
