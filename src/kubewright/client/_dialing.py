"""Opens connections: address, proxy and TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar, cast

from kubewright.client._connection import Broken, Connection
from kubewright.client._heads import ServerAddress, head_of

__all__ = ["Dialer"]

C = TypeVar("C", bound="Connection | _Tunnel")
Security: TypeAlias = tuple[ssl.SSLContext, str] | None
"""The context of a TLS connection, and the expected server name; None for plain HTTP."""

_PROXY_SAYS_AT_MOST = 2**16
_NEXT_ADDRESS = 0.25  # seconds before the next address is tried as well (RFC 8305)


class Dialer:
    """Opens connections to one server, directly or through a proxy. Errors are an OSError, or `Broken`."""

    def __init__(self, server: ServerAddress, proxy: ServerAddress | None) -> None:
        self._server = server
        self._proxy = proxy

    async def dial(self, context: ssl.SSLContext | None, server_name: str | None, make: Callable[[], C]) -> C:
        """Returns an open connection whose protocol `make` creates. The context is for a server with TLS."""
        security = (context, server_name or self._server.host) if context is not None else None
        if self._proxy is None:
            return await _opened(self._server, security, make)
        # As in Go, the context is also for a proxy with TLS.
        to_proxy = (context or ssl.create_default_context(), self._proxy.host) if self._proxy.secure else None
        if security is None:
            return await _opened(self._proxy, to_proxy, make)
        tunnel = await _opened(self._proxy, to_proxy, _Tunnel)
        with _aborting(tunnel):
            return await _secured(await tunnel.ask(self._server, self._proxy), security, make())


async def _opened(place: ServerAddress, security: Security, make: Callable[[], C]) -> C:
    loop = asyncio.get_running_loop()
    connected = await _connected(loop, await _addresses(loop, place))
    context, name = security or (None, None)
    protocol = make()
    with _aborting(protocol):
        await loop.create_connection(lambda: protocol, sock=connected, ssl=context, server_hostname=name)
    return protocol


@contextmanager
def _aborting(protocol: Connection | _Tunnel) -> Iterator[None]:
    """Aborts the connection if the block fails or is canceled.

    If the TLS handshake has just ended, asyncio begins a TLS shutdown, which waits up to 30 seconds for the server.
    """
    try:
        yield
    except BaseException:
        if protocol.transport is not None:
            protocol.transport.abort()
        raise


async def _addresses(loop: asyncio.AbstractEventLoop, place: ServerAddress) -> list[Any]:
    kind = socket.SOCK_STREAM
    try:  # an IP address needs no resolver, and so no thread
        return socket.getaddrinfo(place.host, place.port, type=kind, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        return await loop.getaddrinfo(place.host, place.port, type=kind)
    except UnicodeError as error:
        raise OSError(f"{place.host} is not a valid server name") from error


async def _connected(loop: asyncio.AbstractEventLoop, found: list[Any]) -> socket.socket:
    if len(found) > 1:
        from aiohappyeyeballs import start_connection

        return await start_connection(found, happy_eyeballs_delay=_NEXT_ADDRESS, socket_factory=_watched_socket)
    made = _watched_socket(found[0])
    try:
        made.setblocking(False)
        await loop.sock_connect(made, found[0][4])
    except BaseException:
        made.close()
        raise
    return made


async def _secured(transport: asyncio.Transport, security: tuple[ssl.SSLContext, str], protocol: C) -> C:
    context, name = security
    inner = await asyncio.get_running_loop().start_tls(transport, protocol, context, server_hostname=name)
    if inner is None:
        raise Broken("the proxy has closed the connection")
    protocol.connection_made(inner)
    return protocol


def _watched_socket(address: Any) -> socket.socket:
    """Returns a socket that detects a dead peer within a minute, also while nothing is being sent."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made


class _Tunnel(asyncio.Protocol):
    """Asks a proxy for a tunnel to a server."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self._said = b""
        self._heard: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def ask(self, server: ServerAddress, proxy: ServerAddress) -> asyncio.Transport:
        """Returns the connection to the proxy when the tunnel is open."""
        assert self.transport is not None
        headers = [("Host", server.authority), *proxy.credentials]
        self.transport.write(head_of("CONNECT", server.authority, headers))
        await self._heard
        line = self._said.partition(b"\r\n")[0].decode("latin-1")
        status = line.split(" ")[1:2]
        if not line.startswith("HTTP/1.") or not status or not status[0].startswith("2"):
            shown = line if line.isprintable() and len(line) < 100 else "not HTTP"
            raise Broken(f"the proxy refused the tunnel: {shown}")
        return self.transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._said += data
        if (b"\r\n\r\n" in self._said or len(self._said) > _PROXY_SAYS_AT_MOST) and not self._heard.done():
            self._heard.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._heard.done():
            self._heard.set_exception(error or Broken("the proxy has closed the connection"))
