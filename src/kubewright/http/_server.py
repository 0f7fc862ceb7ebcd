"""`Server`: listens, accepts as many connections as its limits allow, and closes the slow ones."""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import select
import socket
import ssl
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self, TypeAlias

from kubewright.clock import Clock, SystemClock, Timer
from kubewright.counts import counted
from kubewright.http._connection import ServerConnection
from kubewright.http._hello import Arrival
from kubewright.http._host import WAITING
from kubewright.http._limits import ServerLimits
from kubewright.http._listening import listen
from kubewright.http._messages import ServerRequest, ServerResponse
from kubewright.http._waiting import Stage, Waiting
from kubewright.programs import current_program
from kubewright.turns import Turns

__all__ = ["Handler", "Server"]

logger = logging.getLogger("kubewright.http")

Handler: TypeAlias = Callable[[ServerRequest], Awaitable[ServerResponse]]

_ACCEPTED_AT_ONCE: Final = 32  # so that a flood of connections does not block the event loop
_SWEEP_SECONDS: Final = 1.0
_WARNING_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.2  # after the process ran out of file descriptors
_SHORTEST_PAUSE_SECONDS: Final = 0.01
_CANCEL_SECONDS: Final = 1.0
_FLUSH_TURNS: Final = 3
_TLS_CLOSE_SECONDS: Final = 1.0
_ALL_NEW: Final = "all that wait are new, so further ones stay in the listen queue for a moment"
_OUT_OF_RESOURCES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class Server:
    """Serves one handler at one address, from `async with` to its end.

    Guarantees: at most `limits.connections` connections are open, handshakes included. New ones are accepted while
    fewer than `limits.waiting` wait for their clients, or in place of the one that waited longest. Bodies take at most
    `limits.body_bytes`. Each state of a connection has a deadline, except a running handler and a response that the
    client keeps reading. A failing handler answers 500 and is logged. Entering raises OSError if the address cannot be
    used. Leaving lets running handlers finish within `drain_seconds`, then cancels them.

    Args:
        handler: called once for each request; one request of a connection at a time.
        tls: serves HTTPS.
        clock: times the deadlines.
        cancel_on_disconnect: cancels the handler when its client goes away.
        turns: spreads handlers and long responses over turns of the event loop. Default: its own.
        is_urgent: returns whether a request runs before others that wait, for example a probe.
        drain_seconds: real seconds that running handlers have when the server stops.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        limits: ServerLimits | None = None,
        clock: Clock | None = None,
        cancel_on_disconnect: bool = False,
        turns: Turns | None = None,
        is_urgent: Callable[[ServerRequest], bool] = lambda _: False,
        drain_seconds: float = 1.0,
    ) -> None:
        self.handler = handler
        self.turns = turns or Turns()
        self.is_urgent = is_urgent
        self.limits = limits or ServerLimits()
        self.clock: Clock = clock or SystemClock()
        self.cancel_on_disconnect = cancel_on_disconnect
        self.stopping = False
        self.connections: set[ServerConnection] = set()
        self.closed_for_room = 0
        """Connections that were closed because the limit was reached."""
        self._address = (host, port)
        self._tls = tls
        self._drain_seconds = drain_seconds
        self._listeners: list[socket.socket] = []
        self._held: list[socket.socket] = []
        """Accepted, and not opened yet; at most one for each listener."""
        self._openings: dict[ServerConnection, asyncio.Task[None]] = {}
        self._orphans: set[asyncio.Task[None]] = set()
        """Handlers that run although their connection has closed."""
        self._arrivals: set[Arrival] = set()
        self._waiting: Waiting[ServerConnection | Arrival] = Waiting(self.limits, _has_unread)
        self._dropped: set[ServerConnection] = set()  # they end in the next turn of the loop
        self._sweeping: Timer | None = None
        self._resuming: asyncio.TimerHandle | None = None
        self._warned_at: dict[str, float] = {}
        self._body_bytes = 0
        self._idle = asyncio.Event()

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Hosts and ports that it listens on; empty while it does not listen."""
        return [listener.getsockname()[:2] for listener in self._listeners]

    @property
    def port(self) -> int:
        """The port that it listens on, also if port 0 let the system choose; 0 while it does not listen."""
        return self.addresses[0][1] if self._listeners else 0

    @property
    def waiting(self) -> int:
        """Open connections that wait for their clients."""
        return len(self._waiting)

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        host, port = self._address
        found = await loop.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        try:
            for family, _, _, _, address in dict.fromkeys(found):
                self._listeners.append(listen(family, address))
        except OSError:
            self._stop_listening()
            raise
        self._accept_more()
        if (program := current_program()) is not None:
            program.owns(self)
        return self

    def close(self) -> None:
        """Closes all sockets without waiting, as the end of a process does."""
        self._stop_opening()
        for connection in list(self.connections):
            connection.abort()
        if self._sweeping is not None:
            self._sweeping.cancel()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_opening()
        for waiting in list(self._waiting):
            if isinstance(waiting, ServerConnection) and waiting.task is None:
                waiting.abort()
        tasks = [connection.task for connection in self.connections if connection.task is not None]
        tasks += self._orphans
        for connection in self.connections:
            if connection.state == "upgraded" and connection.task is not None:
                connection.task.cancel()  # it has no end of its own
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self._drain_seconds)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=_CANCEL_SECONDS)  # a handler may refuse to end
            await self._flush()
        for connection in list(self.connections):
            connection.abort()
        while self.connections or self._openings:
            self._idle.clear()
            await self._idle.wait()
        if self._sweeping is not None:
            self._sweeping.cancel()

    async def _flush(self) -> None:
        """Lets the last responses reach the sockets; uvloop writes at the end of a turn of the loop."""
        for _ in range(_FLUSH_TURNS):
            await asyncio.sleep(0)

    # Called by connections

    def entered(self, connection: ServerConnection) -> None:
        """Keeps the order in which connections began to wait for their clients."""
        if connection.state == "closed":
            self._waiting.remove(connection)
            self.connections.discard(connection)
            if connection.task is not None:
                self._orphans.add(connection.task)
                connection.task.add_done_callback(self._orphans.discard)
            self._dropped.discard(connection)
            self._idle.set()
            if self._held:  # there is room before the pause ends
                self._pause(0)
        elif connection.state not in WAITING:
            self._waiting.remove(connection)
        elif connection not in self._dropped:
            self._waiting.add(connection, self._stage(connection), asyncio.get_running_loop().time())

    def _stage(self, connection: ServerConnection) -> Stage:
        if connection.state in ("lingering", "closing"):
            return "answered"
        if connection.served:
            return "served"
        return "silent" if connection.state == "head" and self._tls is None else "started"

    def received(self, connection: ServerConnection, size: int) -> None:
        """Counts bytes of bodies: positive ones that arrived, negative ones whose request has ended."""
        self._body_bytes += size
        while size > 0 and self._body_bytes > self.limits.body_bytes:
            slowest = next((each for each in self._waiting if _receives_body(each)), connection)
            assert isinstance(slowest, ServerConnection)
            self._drop(slowest)
            self._body_bytes -= slowest.forget_bodies()
            if slowest is connection:
                return

    # Accepting

    def _accept_more(self) -> None:
        loop = asyncio.get_running_loop()
        for listener in self._listeners:
            loop.add_reader(listener.fileno(), self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                accepted, _address = listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _OUT_OF_RESOURCES:
                    self._make_room(error)
                    self._pause(_PAUSE_SECONDS)
                return
            self._admit(accepted)
            if self._held:
                return

    def _admit(self, accepted: socket.socket) -> None:
        """Opens a connection, in place of another if there are too many. Holds it while every other one is too new."""
        while (is_full := self._is_full()) and self._make_room():
            pass
        if not is_full:
            self._enter(accepted)
        elif (seconds := self._waiting.safe_for(asyncio.get_running_loop().time())) is not None:
            self._held.append(accepted)
            self._pause(seconds)
        else:  # every connection runs a handler; a reset is better than no answer
            self.closed_for_room += 1
            accepted.close()

    def _is_full(self) -> bool:
        is_open = len(self.connections) + len(self._arrivals) - len(self._dropped)
        return is_open >= self.limits.connections or len(self._waiting) >= self.limits.waiting

    def _enter(self, accepted: socket.socket) -> None:
        if self._tls is None:
            self._open(accepted)
        else:
            arrival = Arrival(accepted, self._arrived, since=self.clock.monotonic())
            self._arrivals.add(arrival)
            self._waiting.add(arrival, "silent", asyncio.get_running_loop().time())
        if self._sweeping is None:
            self._sweeping = self.clock.call_later(_SWEEP_SECONDS, self._sweep)

    def _arrived(self, arrival: Arrival) -> None:
        self._forget(arrival)
        self._open(arrival.socket)

    def _forget(self, arrival: Arrival) -> None:
        self._arrivals.discard(arrival)
        self._waiting.remove(arrival)

    def _open(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        connection = ServerConnection(self, accepted)
        self.connections.add(connection)
        stage: Stage = "silent" if self._tls is None else "started"
        self._waiting.add(connection, stage, asyncio.get_running_loop().time())
        opening = asyncio.get_running_loop().create_task(self._connect(connection, accepted))
        # A callback, because a task that is cancelled before its first step runs nothing.
        opening.add_done_callback(lambda done: self._connected(connection, accepted, done))
        self._openings[connection] = opening

    async def _connect(self, connection: ServerConnection, accepted: socket.socket) -> None:
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: connection,
            accepted,
            ssl=self._tls,
            ssl_handshake_timeout=None if self._tls is None else self.limits.header_seconds,
            ssl_shutdown_timeout=None if self._tls is None else _TLS_CLOSE_SECONDS,
        )

    def _connected(self, connection: ServerConnection, accepted: socket.socket, opening: asyncio.Task[None]) -> None:
        del self._openings[connection]
        self._idle.set()
        error = None if opening.cancelled() else opening.exception()
        if error is not None and not isinstance(error, OSError):  # a failed handshake is an OSError
            logger.error("a connection could not be opened", exc_info=error)
        if opening.cancelled() or error is not None:
            accepted.close()
            connection.connection_lost(None)  # uvloop does not report it if the opening was canceled

    def _make_room(self, error: OSError | None = None) -> bool:
        """Closes the connection that has waited longest for its client. Returns False if each is new, or none waits."""
        chosen = self._waiting.next_to_close(asyncio.get_running_loop().time())
        if chosen is None:
            held = len(self._waiting) > 0
            self._warn(error, _ALL_NEW if held else "all of them are busy, so new ones are refused")
            return False
        self._warn(error, "closing the one that has been idle longest for each new one")
        self._drop(chosen)
        return True

    def _drop(self, connection: ServerConnection | Arrival) -> None:
        self.closed_for_room += 1
        if isinstance(connection, Arrival):
            self._forget(connection)
        else:
            self._dropped.add(connection)
            self._waiting.remove(connection)
            opening = self._openings.get(connection)
            if opening is not None:
                opening.cancel()
        connection.abort()

    def _pause(self, seconds: float) -> None:
        """Stops accepting for a moment. New connections wait in the listen queue of the kernel."""
        loop = asyncio.get_running_loop()
        for listener in self._listeners:
            loop.remove_reader(listener.fileno())
        if self._resuming is not None:
            self._resuming.cancel()
        self._resuming = loop.call_later(max(seconds, _SHORTEST_PAUSE_SECONDS), self._resume)

    def _resume(self) -> None:
        self._resuming = None
        held, self._held = self._held, []
        for accepted in held:
            self._admit(accepted)
        if not self._held:
            self._accept_more()

    def _warn(self, error: OSError | None, action: str) -> None:
        now = self.clock.monotonic()
        if now - self._warned_at.get(action, -math.inf) < _WARNING_SECONDS:
            return
        self._warned_at[action] = now
        reason = f"{counted(len(self.connections), 'connection')} open" if error is None else error.strerror
        host, port = self._address[0] or "*", self.port
        logger.warning("%s:%d: %s; %s", host, port, reason, action)

    # Deadlines and the end

    def _sweep(self) -> None:
        self._sweeping = None
        now = self.clock.monotonic()
        for connection in list(self.connections):
            opening = self._openings.get(connection)
            if opening is None:
                connection.check_deadline(now)
            elif now - connection.since >= self.limits.header_seconds:
                opening.cancel()
        for arrival in list(self._arrivals):
            if now - arrival.since >= self.limits.header_seconds:
                self._forget(arrival)
                arrival.abort()
        if self.connections or self._arrivals:
            self._sweeping = self.clock.call_later(_SWEEP_SECONDS, self._sweep)

    def _stop_opening(self) -> None:
        self.stopping = True
        self._stop_listening()
        for opening in list(self._openings.values()):
            opening.cancel()

    def _stop_listening(self) -> None:
        if self._resuming is not None:
            self._resuming.cancel()
        loop = asyncio.get_running_loop()
        for listener in self._listeners:
            loop.remove_reader(listener.fileno())
            listener.close()
        for accepted in self._held:
            accepted.close()
        for arrival in list(self._arrivals):
            self._forget(arrival)
            arrival.abort()
        self._listeners.clear()
        self._held.clear()


def _has_unread(waiting: ServerConnection | Arrival) -> bool:
    number = waiting.socket.fileno()
    if number < 0:
        return False
    poller = select.poll()
    poller.register(number, select.POLLIN)
    return bool(poller.poll(0))


def _receives_body(waiting: ServerConnection | Arrival) -> bool:
    return isinstance(waiting, ServerConnection) and waiting.state == "body"
