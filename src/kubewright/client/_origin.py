"""`HttpOrigin`: sends requests to a server that is not a Kubernetes API server, over kept connections."""

from __future__ import annotations

import ssl
from typing import Self

from kubewright.client._connection import Broken
from kubewright.client._dialing import Dialer
from kubewright.client._exchange import Exchange, NotConnected, request_head
from kubewright.client._heads import ServerAddress
from kubewright.client._http_response import HttpResponse
from kubewright.client._pool import Closed, Pool
from kubewright.client._transport import ConnectionLost, Request
from kubewright.client.credentials._auth import Identity
from kubewright.client.credentials._tls import tls_context

__all__ = ["HttpOrigin"]


class HttpOrigin:
    """One HTTP server, with the connections, limits and retries of `Client`, but without its credentials.

    There are no redirects, proxies or cookies. A repeatable request is sent again if the server has closed a kept
    connection. Each `send` after `close` opens new connections. Belongs to one event loop.

    Args:
        url: `https://host:port`; a path is put before the path of each request. ValueError if it is not such a URL.
        tls: for https; the CAs of the system by default.
        server_name: the name that the certificate must have, also sent as SNI; the host by default.
        host: the `Host` header; host and port by default.
        max_response_bytes: the largest body that `HttpResponse.read` returns.
    """

    def __init__(
        self,
        url: str,
        *,
        tls: ssl.SSLContext | None = None,
        server_name: str | None = None,
        host: str | None = None,
        max_response_bytes: int,
    ) -> None:
        self._place = ServerAddress.of(url)
        if self._place.secure and tls is None:
            tls = tls_context(None)
        self._identity = Identity((), tls if tls is not None and self._place.secure else True, server_name)
        self._headers = [("Host", host or self._place.name)]
        self._exchange = Exchange(self._lost, max_response_bytes)
        self._pool: Pool | None = None

    @property
    def busy(self) -> bool:
        """Whether a request is in flight or a response is unread."""
        return self._pool is not None and self._pool.busy

    async def send(self, request: Request) -> HttpResponse:
        """Sends one request and waits for the head of the response.

        Raises the `OSError` of a connection that could not be opened (also `ssl.SSLError` and `socket.gaierror`),
        `ConnectionLost` if there is no complete response, `TimeoutError` after `request.timeout` seconds.
        """
        head = request_head(request, self._place.path, self._headers)
        pool = self._pool = self._pool or Pool(Dialer(self._place, None))
        try:
            return await self._exchange.send(pool, self._identity, request, head)
        except NotConnected as error:
            if isinstance(error.reason, OSError):
                raise error.reason from None
            raise ConnectionLost(f"cannot connect to {self._place.url} {error.reason}", sent=False) from error.reason
        except (Broken, Closed) as error:
            raise self._lost(error) from error

    async def close(self) -> None:
        """Closes every connection. Requests in flight fail."""
        if self._pool is not None:
            pool, self._pool = self._pool, None
            await pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _lost(self, error: Exception) -> Exception:
        if isinstance(error, Closed):
            return ConnectionLost("the client was closed", sent=True, final=True)
        return ConnectionLost(f"the connection to {self._place.url} broke: {error}", sent=True)
