"""The transport for real servers: HTTP/1.1 over kept connections. Imported on first use.

It consists of a `Pool` of `Connection`s that a `Dialer` opens. This module adds what is specific to Kubernetes:
credentials and error messages.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import ssl
from urllib.parse import urlsplit

from kubewright.client._config import ClientConfig
from kubewright.client._config_errors import ConfigError
from kubewright.client._connection import Broken
from kubewright.client._dialing import Dialer
from kubewright.client._exchange import Exchange, NotConnected, request_head
from kubewright.client._heads import ServerAddress
from kubewright.client._http_response import HttpResponse
from kubewright.client._pool import Closed, Pool, Unreachable
from kubewright.client._transport import ConnectionLost, Request
from kubewright.client.credentials._auth import Authenticator, Identity
from kubewright.clock import Clock
from kubewright.user_code import being_cancelled

__all__ = ["HttpTransport"]


class HttpTransport:
    """Keep-alive connections to one API server, one for each concurrent request.

    Credentials are read for each request, so that a rotated token or certificate is used immediately; a new TLS context
    opens new connections. After a 401, the request is retried once if there are new credentials.
    """

    def __init__(self, config: ClientConfig, clock: Clock) -> None:
        self._config = config
        self._authenticator = Authenticator(config, clock)
        try:
            self._server, proxy = (
                ServerAddress.of(config.server),
                ServerAddress.of(config.proxy) if config.proxy else None,
            )
        except ValueError:  # without its message, which shows the URL of the proxy
            raise ConfigError(f"the URL of the server or of its proxy is not valid: {config.server}") from None
        self._dialer = Dialer(self._server, proxy)
        self._exchange = Exchange(self._lost, config.max_response_bytes, clock)
        self._pool: Pool | None = None
        self._prefix, self._headers = self._server.path, [("Host", self._server.name)]
        if proxy is not None and not self._server.secure:  # the proxy needs the whole URL
            self._prefix = self._server.url + self._prefix
            self._headers += proxy.credentials
        near = config.disable_compression or _is_near(config.server)
        self._headers.append(("Accept-Encoding", "identity" if near else "gzip"))

    async def send(self, request: Request) -> HttpResponse:
        """Sends one request and waits for the head of the response."""
        # Chosen before the first await: if the client is closed during the request, the request must fail.
        pool = self._pool = self._pool or Pool(self._dialer)
        try:
            identity = await self._authenticator.identity()
            response = await self._send_as(identity, request, pool)
            if response.status == 401 and await self._renewed(identity, response):
                response = await self._send_as(await self._authenticator.identity(), request, pool)
        except asyncio.CancelledError:
            if pool.closed and not being_cancelled():  # the plugin was cancelled when the client was closed
                raise self._lost(Closed()) from None
            raise
        return response

    async def close(self) -> None:
        """Closes every connection. Requests in flight fail and are not retried."""
        if self._pool is not None:
            pool, self._pool = self._pool, None
            await pool.close()
        await self._authenticator.close()

    async def _renewed(self, identity: Identity, response: HttpResponse) -> bool:
        """Whether there are new credentials. The rejected response is then no longer needed."""
        try:
            renewed = await self._authenticator.rejected(identity)
        except BaseException:
            response.close()
            raise
        if renewed:
            response.close()
        return renewed

    async def _send_as(self, identity: Identity, request: Request, pool: Pool) -> HttpResponse:
        head = request_head(request, self._prefix, [*self._headers, *identity.headers])
        try:
            return await self._exchange.send(pool, identity, request, head)
        except NotConnected as error:
            raise self._unreached(error.reason) from error.reason
        except (Broken, Closed) as error:
            raise self._lost(error) from error

    def _unreached(self, error: Exception) -> Exception:
        """Returns the error for a failed connection: temporary, or permanent with this configuration."""
        server = self._config.server
        if explained := self._authenticator.explain(error):
            return explained
        if isinstance(error, ssl.SSLCertVerificationError):
            reason = getattr(error, "verify_message", "") or str(error)
            text = f"the certificate of {server} is not trusted ({reason}); check the CA of {self._config.source}"
        elif isinstance(error, ssl.SSLError):
            text = f"no TLS connection to {server}: {_short(error)}"
        elif isinstance(error, Unreachable):
            text = f"cannot connect to {server} {error}"
        else:
            text = f"cannot connect to {server}: {_short(error)}"
        return ConnectionLost(text, sent=False)

    def _lost(self, error: Exception) -> Exception:
        """Returns the error for a broken connection: temporary, or permanent with this configuration."""
        if isinstance(error, Closed):  # a retry would open a connection that is never closed
            return ConnectionLost("the client was closed", sent=True, final=True)
        if explained := self._authenticator.explain(error):
            return explained
        if isinstance(error.__cause__, ssl.SSLError):
            return ConnectionLost(f"no TLS connection to {self._config.server}: {_short(error.__cause__)}", sent=True)
        return ConnectionLost(f"the connection to {self._config.server} broke: {error}", sent=True)


def _is_near(server: str) -> bool:
    """Whether the server is on this machine or network, where compression costs more time than it saves."""
    host = urlsplit(server).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or host.endswith((".svc", ".local"))


def _short(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno and not isinstance(error, ssl.SSLError | socket.gaierror):
        return os.strerror(error.errno)  # asyncio adds the address to the message, which may be one of many
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
