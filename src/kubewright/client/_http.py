"""The transport for real servers, on aiohttp. Imported on first use: aiohttp is slow to import."""

from __future__ import annotations

import asyncio
import io
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp
from aiohttp.client_proto import ResponseHandler
from multidict import CIMultiDict
from yarl import URL

from kubewright.client._auth import Authenticator, Identity
from kubewright.client._bursts import Bursts
from kubewright.client._config import ClientConfig
from kubewright.client._config_errors import ConfigError
from kubewright.client._guarded import Guarded, guarded
from kubewright.client._transport import ConnectionLost, Request
from kubewright.clock import Clock

__all__ = ["HttpTransport"]

_CONNECT_TIMEOUT = 10.0
# Less than the 90 s after which kube-apiserver closes an idle connection: a write that is sent on one at that moment is
# lost, and nobody knows whether it has happened.
_IDLE_TIMEOUT = 60.0
_READ_BUFFER = 2**20  # a watch of busy kinds arrives in large pieces; small buffers stop and start the socket
_WORDS = 12  # of what a parser says: what follows shows bytes of the answer
_QUERY_SAFE = "-._~:,/()!*"


class HttpTransport:
    """Keep-alive connections to one API server, as many as there are concurrent requests.

    Credentials are asked for at each request, so that a rotated token or certificate is used at once; a new TLS context
    opens new connections. A 401 is answered once with fresh credentials, where there are any.
    """

    def __init__(self, config: ClientConfig, clock: Clock) -> None:
        self._config = config
        self._authenticator = Authenticator(config, clock)
        self._session: aiohttp.ClientSession | None = None
        self._compress = not config.disable_compression and not _is_near(config.server)

    async def send(self, request: Request) -> HttpResponse:
        """Send one request and wait for the head of the answer."""
        identity = await self._authenticator.identity()
        response = await self._send_as(identity, request)
        if response.status == 401 and await self._renewed(identity, response):
            response = await self._send_as(await self._authenticator.identity(), request)
        return response

    async def _renewed(self, identity: Identity, response: HttpResponse) -> bool:
        """Whether there are other credentials than the rejected ones; then the rejection is not needed any more."""
        renewed = False
        try:
            renewed = await self._authenticator.rejected(identity)
        except ConfigError:
            response.close()
            raise
        if renewed:
            response.close()
        return renewed

    async def _send_as(self, identity: Identity, request: Request) -> HttpResponse:
        headers = CIMultiDict(request.headers)
        headers.extend(identity.headers)
        headers["Accept-Encoding"] = "gzip" if self._compress else "identity"
        body = _as_data(request.body)
        data = guarded(body, request.before_send) if request.before_send is not None else body
        session = self._open_session()
        try:
            response = await session.request(
                request.method,
                self._url(request),
                data=data,
                headers=headers,
                timeout=_timeouts(request.timeout, stream=request.stream),
                ssl=identity.ssl,
                server_hostname=identity.server_name,
                proxy=self._config.proxy,
                allow_redirects=False,
            )
        except aiohttp.ConnectionTimeoutError as error:
            message = f"cannot connect to {self._config.server} within {_CONNECT_TIMEOUT:g} s"
            raise ConnectionLost(message, sent=False) from error
        except aiohttp.ServerTimeoutError as error:
            raise TimeoutError from error
        except aiohttp.ClientError as error:
            if isinstance(data, Guarded) and data.refusal is not None:
                raise data.refusal from None
            if session.closed:  # by `close`: not to be repeated, which would open what nobody closes
                raise ConnectionLost("the client was closed", sent=True, final=True) from error
            raise self._lost(error) from error
        return HttpResponse(response, self._lost)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=Connector(limit=0, keepalive_timeout=_IDLE_TIMEOUT, socket_factory=_watched_socket),
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=_READ_BUFFER,
                skip_auto_headers=("User-Agent", "Content-Type"),
            )
        return self._session

    def _url(self, request: Request) -> URL:
        query = _query_text(tuple(request.query))
        return URL(f"{self._config.server}{request.path}{query}", encoded=True)

    def _lost(self, error: aiohttp.ClientError) -> ConnectionLost | ConfigError:
        """What to raise: a connection that may work again later, or a configuration that never will."""
        server = self._config.server
        if explained := self._authenticator.explain(error):
            return explained
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            reason = getattr(error.certificate_error, "verify_message", "") or str(error.certificate_error)
            text = f"the certificate of {server} is not trusted ({reason}); check the CA of {self._config.source}"
            return ConnectionLost(text, sent=False)
        if isinstance(error, aiohttp.ClientSSLError) or isinstance(error.__cause__, ssl.SSLError):
            text = f"no TLS connection to {server}: {_short(error)}"
            return ConnectionLost(text, sent=not isinstance(error, aiohttp.ClientConnectorError))
        if isinstance(error, aiohttp.ClientConnectorError):
            return ConnectionLost(f"cannot connect to {server}: {_short(error)}", sent=False)
        if isinstance(error, aiohttp.InvalidURL):
            return ConnectionLost(f"{server} is not the URL of a server", sent=False)
        return ConnectionLost(f"the connection to {server} broke: {_short(error)}", sent=True)

    async def close(self) -> None:
        """Close every connection. Requests that are on their way fail, and are not repeated."""
        if self._session is not None:
            await self._session.close()
            self._session = None
            # Connections that were given up, or that were still being opened, are closed in the next turns of the loop.
            for _ in range(3):
                await asyncio.sleep(0)
        await self._authenticator.close()


class Connector(aiohttp.TCPConnector):
    """Aborts the connections that are given up.

    aiohttp closes them in good order, which over TLS means to wait for the other side; and it forgets them at once, so
    that closing the session does not wait for them. Nobody needs that order: what is given up is a stream that has no
    end, or a request that was cancelled.
    """

    def _release(self, key: Any, protocol: ResponseHandler, *, should_close: bool = False) -> None:
        if should_close or protocol.should_close:
            protocol.abort()
        super()._release(key, protocol, should_close=should_close)


class HttpResponse:
    """An answer from aiohttp."""

    def __init__(self, response: aiohttp.ClientResponse, lost: Callable[[aiohttp.ClientError], Exception]) -> None:
        self._response = response
        self._lost = lost

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; names compare without case."""
        return self._response.headers

    def warnings(self) -> list[str]:
        """The values of the `Warning` headers."""
        return self._response.headers.getall("Warning", [])

    async def read(self) -> bytes:
        """The whole body."""
        return b"".join([chunk async for chunk in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives."""
        connection = self._response.connection  # none when everything is here already
        bursts = Bursts(connection.transport if connection is not None else None, asyncio.get_running_loop())
        try:
            async for chunk in self._response.content.iter_any():
                if self._response.connection is None:  # all is here, and the connection may be another's by now
                    bursts.close()
                else:
                    bursts.arrived(len(chunk))
                yield chunk
                del chunk  # or it would live until the next one comes
        except aiohttp.ClientError as error:
            raise self._lost(error) from error
        finally:
            bursts.close()
            self._response.close()

    def close(self) -> None:
        """Give up the rest of the body."""
        self._response.close()


# The queries and time-outs of an operator are few, and preparing them was a tenth of what a request costs.


@lru_cache(maxsize=256)
def _query_text(query: tuple[tuple[str, str], ...]) -> str:
    text = "&".join(f"{quote(name, safe=_QUERY_SAFE)}={quote(value, safe=_QUERY_SAFE)}" for name, value in query)
    return f"?{text}" if text else ""


@lru_cache(maxsize=64)
def _timeouts(timeout: float | None, *, stream: bool) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(
        total=None if stream else timeout,
        sock_connect=_CONNECT_TIMEOUT,
        sock_read=timeout if stream else None,
    )


def _as_data(body: bytes | None) -> bytes | io.BytesIO | None:
    """Large bodies in pieces, so that they do not hold up the event loop."""
    return io.BytesIO(body) if body is not None and len(body) > _READ_BUFFER else body


def _watched_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """A socket on which a peer that vanished is noticed within a minute, also while nothing is being sent."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made


def _is_near(server: str) -> bool:
    """Whether the server is on this machine or network, where compressing costs more time than it saves."""
    host = urlsplit(server).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or host.endswith((".svc", ".local"))


def _short(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientPayloadError):
        return "its answer broke off"  # what aiohttp says looks like an answer 400 of the server, over two lines
    if isinstance(error, aiohttp.ClientResponseError):  # likewise: an answer that is no HTTP
        return f"its answer cannot be read ({' '.join(error.message.split()[:_WORDS])})"
    cause = getattr(error, "os_error", None) or error.__cause__ or error
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
