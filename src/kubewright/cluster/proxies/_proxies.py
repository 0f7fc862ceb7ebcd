"""`Proxies`: passes requests on to pods and Services."""

from __future__ import annotations

import asyncio
import errno
import posixpath
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Final
from urllib.parse import quote, unquote, urlencode

from kubewright.client import ConnectionLost, HttpOrigin, HttpResponse, Request, RequestHeaders
from kubewright.cluster._state import State
from kubewright.cluster.access import subprotocols
from kubewright.cluster.dispatch._dispatcher import Dispatcher
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import internal
from kubewright.cluster.machinery._forwarded_body import ForwardedBody
from kubewright.cluster.machinery._responses import ApiResponse, Headers
from kubewright.cluster.proxies._locations import Location, location_of, unavailable
from kubewright.cluster.proxies._rewriting import Links
from kubewright.http import ByteStream, join_streams

__all__ = ["Proxies"]

_PAGE_BYTES: Final = 2**20  # of an HTML page whose links are rewritten
_PROTOCOLS: Final = "Sec-WebSocket-Protocol"
_PATH_SAFE: Final = "/-_.~$&+,:;=@"  # characters that Go does not escape in a path
_HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_IDENTITY: Final = ("authorization", "impersonate-", "x-remote-")
_REPLACED: Final = frozenset(
    {"host", "content-length", "accept-encoding", "x-forwarded-for", "x-forwarded-uri", "expect"}
)
_CROSS_ORIGIN: Final = frozenset(
    f"access-control-allow-{name}" for name in ("credentials", "headers", "methods", "origin")
)


class Proxies:
    """Serves `pods/proxy` and `services/proxy`. Each request has its own connection."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._insecure: ssl.SSLContext | None = None
        self._closing: set[asyncio.Task[None]] = set()
        dispatcher.supported |= {"pods/proxy", "services/proxy"}
        dispatcher.overrides.append(self.override)

    async def override(self, state: State, call: Call) -> ApiResponse | None:
        """Passes a proxied request on; None for any other request."""
        if call.subresource != "proxy" or call.type.qualified not in ("pods", "services"):
            return None
        location = location_of(state, call)
        path = _path_of(call)
        upgrades = _is_upgrade(call)
        if not path and not upgrades and call.request.method in ("GET", "HEAD"):
            query = f"?{urlencode(call.request.query, quote_via=quote)}" if call.request.query else ""
            return ApiResponse(status=301, headers={"Location": f"{unquote(call.request.path)}/{query}"})
        response, origin = await self._send(state, call, location, path, upgrades=upgrades)
        if response.status == 101:
            return self._upgraded(response, origin)
        if upgrades and response.status < 400:
            response.close()
            self._close(origin)
            raise internal(f"invalid upgrade response: status code {response.status}")
        body = ForwardedBody(response)
        body.when_closed(lambda: self._close(origin))
        return await _answered(call, response, body, location, path)

    async def close(self) -> None:
        """Waits until all closing connections are closed."""
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _close(self, origin: HttpOrigin) -> None:
        task = asyncio.get_running_loop().create_task(origin.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _upgraded(self, response: HttpResponse, origin: HttpOrigin) -> ApiResponse:
        upstream = response.upgraded()

        async def joined(stream: ByteStream) -> None:
            try:
                await join_streams(stream, upstream)
            finally:
                self._close(origin)

        made = ApiResponse(status=101, upgrade=joined)
        made.headers = Headers(response.headers.pairs())
        return made

    async def _send(
        self, state: State, call: Call, location: Location, path: str, *, upgrades: bool
    ) -> tuple[HttpResponse, HttpOrigin]:
        tls = self._without_verification() if location.secure else None
        origin = HttpOrigin(location.url, tls=tls, host=call.header("Host") or None, max_response_bytes=_PAGE_BYTES)
        request = Request(
            method=call.request.method,
            path=quote(path or "/", safe=_PATH_SAFE),
            query=call.request.query,
            headers=_request_headers(call, path, upgrades=upgrades),
            body=call.request.body,
            stream=True,
            upgrade=upgrades,
        )
        what = "error dialing backend" if upgrades else "error trying to reach service"
        failure = internal if upgrades else unavailable
        try:
            with state.clock.hold(f"the program behind {call.type.plural} {call.name}"):
                return await origin.send(request), origin
        except TimeoutError:
            self._close(origin)
            raise failure(f"{what}: dial tcp {location.authority}: i/o timeout") from None
        except ConnectionLost as error:
            self._close(origin)
            raise failure(f"{what}: EOF" if error.sent else f"{what}: {error}") from None
        except OSError as error:
            self._close(origin)
            raise failure(f"{what}: {_problem(error, location)}") from None

    def _without_verification(self) -> ssl.SSLContext:
        """Returns a context that accepts any certificate, as kube-apiserver does for pods."""
        if self._insecure is None:
            self._insecure = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            self._insecure.check_hostname = False
            self._insecure.verify_mode = ssl.CERT_NONE
        return self._insecure


def _path_of(call: Call) -> str:
    """Returns the path for the program, decoded and normalized; empty if nothing follows `proxy`."""
    # /api/v1/namespaces/{namespace}/{resource}/{name}/proxy/{path}
    rest = "/".join(unquote(part) for part in call.request.path.split("/")[8:])
    cleaned = posixpath.normpath(f"/{rest.strip('/')}").lstrip("/")
    if call.request.path.endswith("/"):
        return f"/{cleaned}/" if cleaned else "/"
    return f"/{cleaned}" if cleaned else ""


def _prefix_of(call: Call, path: str) -> str:
    """Returns the path of the proxy, without that of the program."""
    return unquote(call.request.path).removesuffix(path)


def _is_upgrade(call: Call) -> bool:
    return "upgrade" in call.header("Connection").lower() and bool(call.header("Upgrade"))


def _request_headers(call: Call, path: str, *, upgrades: bool) -> RequestHeaders:
    """Returns the headers for the program: without those of the connection and of the user's identity."""
    named = {each.strip().lower() for each in call.header("Connection").split(",")}
    dropped = _REPLACED if upgrades else _REPLACED | _HOP_BY_HOP | named
    pairs = [
        (name, value)
        for name, value in call.request.headers.items()
        if name.lower() not in dropped and not name.lower().startswith(_IDENTITY)
    ]
    if upgrades and call.header(_PROTOCOLS):
        pairs = [pair for pair in pairs if pair[0].lower() != _PROTOCOLS.lower()]
        pairs.append((_PROTOCOLS, subprotocols(call.request)))
    if not upgrades:
        pairs.append(("Accept-Encoding", "identity"))
        prefix = _prefix_of(call, path)
        forwarded = posixpath.normpath(f"{prefix}/{path}") + ("/" if path.endswith("/") else "")
        pairs.append(("X-Forwarded-Uri", quote(forwarded, safe=_PATH_SAFE)))
    clients = [each for each in (call.header("X-Forwarded-For"), call.source) if each]
    if clients:
        pairs.append(("X-Forwarded-For", ", ".join(clients)))
    return RequestHeaders(pairs)


async def _answered(
    call: Call, response: HttpResponse, body: ForwardedBody, location: Location, path: str
) -> ApiResponse:
    """Returns the response of the program. Links in headers and HTML lead through the proxy."""
    links = Links(_prefix_of(call, path).rstrip("/"), (location.authority, call.header("Host")))
    unpacked = "Content-Encoding" in response.headers
    dropped = _HOP_BY_HOP | _CROSS_ORIGIN | ({"content-encoding", "content-length"} if unpacked else set())
    pairs = [(name, value) for name, value in response.headers.pairs() if name.lower() not in dropped]
    made = ApiResponse(status=response.status, stream=body)
    if redirect := response.headers.get("Location", ""):
        pairs = [(name, links.url(redirect) if name.lower() == "location" else value) for name, value in pairs]
    elif _media_type(response) == "text/html" and call.request.method != "HEAD":
        pairs = [pair for pair in pairs if pair[0].lower() != "content-length"]
        made.stream = _Page(body, links)
    made.headers = Headers(pairs)
    return made


def _media_type(response: HttpResponse) -> str:
    return response.headers.get("Content-Type", "").partition(";")[0].strip()


class _Page:
    """An HTML page with rewritten links. A page that is too large, or not UTF-8, is passed on as it is."""

    def __init__(self, body: ForwardedBody, links: Links) -> None:
        self._body = body
        self._links = links

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yields the page."""
        read = b""
        large = False
        async for chunk in self._body.chunks():
            if large:
                yield chunk
                continue
            read += chunk
            if len(read) > _PAGE_BYTES:
                large = True
                yield read
        if not large:
            try:
                yield self._links.page(read.decode()).encode()
            except UnicodeDecodeError:
                yield read

    def may_stall(self) -> bool:
        """Returns True: the program is not under the control of this cluster."""
        return True

    def close(self) -> None:
        """Ends the stream."""
        self._body.close()

    def when_closed(self, callback: Callable[[], None]) -> None:
        """Calls `callback` once when the stream has ended."""
        self._body.when_closed(callback)


def _problem(error: OSError, location: Location) -> str:
    if isinstance(error, ssl.SSLError):
        return f"tls: {(error.reason or 'handshake failure').replace('_', ' ').lower()}"
    if error.errno == errno.ECONNREFUSED:
        return f"dial tcp {location.authority}: connect: connection refused"
    return f"dial tcp {location.authority}: connect: {(error.strerror or str(error)).lower()}"
