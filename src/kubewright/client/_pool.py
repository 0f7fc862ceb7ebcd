"""`Pool`: the connections to one server, in use and idle."""

from __future__ import annotations

import asyncio
import ssl

from kubewright.client._connection import Broken, Connection
from kubewright.client._dialing import Dialer
from kubewright.client.credentials._auth import Identity
from kubewright.durations import format_duration
from kubewright.user_code import being_cancelled

__all__ = ["Closed", "Pool", "Unreachable"]

_CONNECT_SECONDS = 10.0
# Less than the 90 s after which kube-apiserver closes an idle connection: a write that is sent at that moment is lost,
# with an unknown outcome.
_IDLE_SECONDS = 60.0


class Closed(Exception):
    """The owner of the pool has closed it."""


class Unreachable(Broken):
    """No connection could be opened for a long time."""


class Pool:
    """One connection for each concurrent request: with a limit, watches would starve the others."""

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer
        self._loop = asyncio.get_running_loop()
        self._open: set[Connection] = set()
        self._idle: list[Connection] = []
        self._dialing: set[asyncio.Task[Connection]] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self.closed = False
        """Whether its owner has closed it. It is not opened again."""

    @property
    def busy(self) -> bool:
        """Whether a connection is being opened or used."""
        return bool(self._dialing) or len(self._open) > len(self._idle)

    def take(self, identity: Identity) -> Connection | None:
        """Returns an idle connection, or None. A new TLS context needs a new connection."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and connection.tls is identity.ssl:
                return connection
            connection.give_up()
        return None

    async def open(self, identity: Identity) -> Connection:
        """Returns a new connection.

        Raises the errors of the dialer, `Unreachable` if it takes too long, and `Closed`.
        """
        if self.closed:
            raise Closed
        task = self._loop.create_task(self._dialed(identity))
        self._dialing.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if task.done() and not task.cancelled() and task.exception() is None:
                task.result().give_up()  # no task waits for it any more
            if task not in self._dialing and not being_cancelled():  # `close` cancelled it, not the caller
                raise Closed from None
            raise
        finally:
            self._dialing.discard(task)

    def give_back(self, connection: Connection) -> None:
        """Returns a connection after its exchange has ended or was aborted."""
        if self.closed or not connection.reusable:
            connection.give_up()
            return
        connection.rest(self._loop.time())
        self._idle.append(connection)
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(_IDLE_SECONDS, self._sweep)

    async def close(self) -> None:
        """Closes every connection. Waiting and later requests raise `Closed`."""
        self.closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        dialing, self._dialing = self._dialing, set()
        for task in dialing:
            task.cancel()
        for connection in list(self._open):
            connection.fail(Closed())
        self._idle.clear()
        await asyncio.gather(*dialing, return_exceptions=True)
        # Connections are closed in the next turns of the loop.
        for _ in range(3):
            await asyncio.sleep(0)

    async def _dialed(self, identity: Identity) -> Connection:
        context = identity.ssl if isinstance(identity.ssl, ssl.SSLContext) else None
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                connection = await self._dialer.dial(context, identity.server_name, lambda: self._made(identity))
        except TimeoutError as error:  # also those of the event loop itself
            raise Unreachable(f"within {format_duration(_CONNECT_SECONDS)}") from error
        connection.check()  # it may be closed again
        self._open.add(connection)
        return connection

    def _made(self, identity: Identity) -> Connection:
        return Connection(identity.ssl, self._open.discard)

    def _sweep(self) -> None:
        old = self._loop.time() - _IDLE_SECONDS
        kept = [each for each in self._idle if each.is_open and each.idle_since > old]
        for connection in self._idle:
            if connection not in kept:
                connection.give_up()
        self._idle = kept
        oldest = min((each.idle_since for each in kept), default=None)
        self._sweeper = None if oldest is None else self._loop.call_at(oldest + _IDLE_SECONDS, self._sweep)
