"""Security checks of requests, and security headers of responses.

ASGI middleware before any other code, for WebSockets too.

- `Host` must be a configured name. This prevents DNS rebinding.
- `Origin` must be the console's own for every write and every WebSocket. This prevents CSRF and cross-site WebSocket
  hijacking.
- Pages cannot be framed and load nothing from other sites. A script runs only with the nonce of its page, so an
  attribute such as `onerror` in the content of an object never runs.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Collection, Iterable
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["CLIENT_ADDRESS", "HEALTH", "SECURE", "SOCKETS", "AllowedHosts", "SecurityMiddleware", "client_address"]

CLIENT_ADDRESS: Final = "kubewright.client-address"
"""The scope key of the client's address: the peer's, or the one that a trusted proxy forwards."""

SECURE: Final = "kubewright.secure"
"""The scope key that is true for requests over TLS."""

HEALTH: Final = "/healthz"
SOCKETS: Final = "/_nicegui_ws/"
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST: Final = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::\d{1,5})?")
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
# Any client can set these headers. They are not needed, and NiceGUI would insert the prefix into the page.
_IGNORED_HEADERS: Final = frozenset(
    {b"x-forwarded-prefix", b"x-forwarded-host", b"x-forwarded-proto", b"x-forwarded-for", b"forwarded"}
)


class AllowedHosts:
    """The host names under which the server may be requested: loopback, and the configured ones."""

    def __init__(self, urls: Iterable[str] = (), hosts: Collection[str] = ()) -> None:
        """Takes external URLs (`https://console.example.com`) and the addresses that the server listens on."""
        self.origins = frozenset(_origin(url) for url in urls)
        self._external = frozenset((urlsplit(url).hostname or "").lower() for url in self.origins)
        self._hosts = _LOOPBACK | frozenset(host.lower() for host in hosts)

    def allows(self, host: str) -> bool:
        """Whether a Host header is allowed. The port is ignored, because port forwarding changes it."""
        name = _hostname(host)
        return name in self._hosts or name in self._external

    def is_secure(self, host: str) -> bool:
        """Whether the console is reached over TLS under this name, so that cookies must be secure."""
        name = _hostname(host)
        return any(_hostname(urlsplit(url).netloc) == name and url.startswith("https:") for url in self.origins)

    def is_same_origin(self, origin: str, host: str) -> bool:
        """Whether an Origin is the console's own, in a request for this Host."""
        try:
            parts = urlsplit(origin)
            parts.port  # noqa: B018  # raises for an invalid port
        except ValueError:
            return False
        if parts.scheme not in ("http", "https") or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
            return False
        if _hostname(host) in self._external:
            return _origin(origin) in self.origins
        return parts.netloc.lower() == host.lower()


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


def _hostname(host: str) -> str:
    parts = _HOST.fullmatch(host.lower())
    return "" if parts is None else (parts["six"] or parts["name"])


class SecurityMiddleware:
    """ASGI middleware that checks requests and protects responses. `secure`: the server itself uses TLS."""

    def __init__(
        self, application: ASGIApp, names: AllowedHosts, *, secure: bool = False, trusted_proxies: Iterable[str] = ()
    ) -> None:
        self._application = application
        self._names = names
        self._secure = secure
        self._proxies = [ipaddress.ip_network(one) for one in trusted_proxies]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Rejects the request, or passes it on."""
        if scope["type"] not in ("http", "websocket"):
            await self._application(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if scope["type"] == "http" and scope["path"] == HEALTH:
            # Probes use the pod's address as Host, and get only this response.
            await PlainTextResponse("ok\n")(scope, receive, send)
            return
        rejection = self._rejection(scope, headers)
        if rejection is not None:
            await _reject(scope, receive, self._protected(send, scope, headers), *rejection)
            return
        scope[SECURE] = self._is_secure(headers)
        peer = (scope.get("client") or ("",))[0]
        scope[CLIENT_ADDRESS] = client_address(peer, headers.getlist("x-forwarded-for"), self._proxies)
        scope["headers"] = [one for one in scope["headers"] if one[0].lower() not in _IGNORED_HEADERS]
        await self._application(scope, receive, self._protected(send, scope, headers))

    def _rejection(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._names.allows(hosts[0]):
            shown = "".join(letter for letter in (hosts or ["?"])[0] if letter.isprintable())[:100]
            return 421, (
                f"This console does not serve the host name {shown}. "
                "If the name is correct, start the console with --url and the address that you opened."
            )
        origins = headers.getlist("origin")
        socket = scope["type"] == "websocket"
        if origins:
            if len(origins) != 1 or not self._names.is_same_origin(origins[0], hosts[0]):
                return 403, "This request comes from another site and was rejected."
        elif socket or scope["method"] not in _SAFE_METHODS:
            return 403, "This request has no Origin header and was rejected."
        if SOCKETS in scope["path"] and headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return 403, "This request comes from another site and was rejected."
        return None

    def _protected(self, send: Send, scope: Scope, headers: Headers) -> Send:
        if scope["type"] == "websocket":
            return send
        return _ResponseHeaders(send, headers.get("host", ""), secure=self._is_secure(headers)).send

    def _is_secure(self, headers: Headers) -> bool:
        return self._secure or self._names.is_secure(headers.get("host", ""))


def client_address(
    peer: str,
    forwarded: Iterable[str],
    proxies: Collection[ipaddress.IPv4Network | ipaddress.IPv6Network],
) -> str:
    """Returns the client's address: the last one in `X-Forwarded-For` that is not a trusted proxy.

    The header counts only if the peer is a trusted proxy, and only up to the first invalid address.
    """
    hops = [hop.strip() for line in forwarded for hop in line.split(",")]
    address = peer
    while hops and _is_in(address, proxies):
        try:
            address = str(ipaddress.ip_address(hops.pop()))
        except ValueError:
            break
    return address


def _is_in(address: str, networks: Collection[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(parsed in network for network in networks)


class _ResponseHeaders:
    """Adds the security headers to a response, and the nonce to its scripts."""

    def __init__(self, send: Send, host: str, *, secure: bool) -> None:
        self._send = send
        self._host = host
        self._secure = secure
        self._nonce = ""
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=list(message["headers"]))
            page = headers.get("x-nicegui-content") == "page"
            if page:
                self._nonce = secrets.token_urlsafe(16)
            self._protect(headers)
            message = {**message, "headers": headers.raw}
            if page:
                self._start = message  # the length changes with the body
                return
        elif message["type"] == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if message.get("more_body"):
                return
            # The content of objects is in the page too, but without "<": NiceGUI escapes it.
            body = self._body.replace(b"<script", b'<script nonce="%s"' % self._nonce.encode())
            start, self._start = self._start, None
            MutableHeaders(raw=start["headers"])["content-length"] = str(len(body))
            await self._send(start)
            message = {**message, "body": body}
        await self._send(message)

    def _protect(self, headers: MutableHeaders) -> None:
        for name in [name for name in headers if name.startswith("access-control-")]:
            del headers[name]  # other sites must not read responses
        headers["content-security-policy"] = self._policy()
        headers["x-frame-options"] = "DENY"
        headers["x-content-type-options"] = "nosniff"
        headers.setdefault("referrer-policy", "no-referrer")
        headers["cross-origin-opener-policy"] = "same-origin"
        headers["cross-origin-resource-policy"] = "same-origin"
        headers["permissions-policy"] = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"
        if self._secure:
            headers["strict-transport-security"] = "max-age=31536000"

    def _policy(self) -> str:
        # Vue compiles templates in the browser, which requires eval; Quasar and AG Grid add inline styles.
        script = f"script-src 'self' 'nonce-{self._nonce}' 'unsafe-eval'" if self._nonce else "script-src 'self'"
        # Some browsers do not include WebSockets in 'self'. An unknown host name is not echoed.
        sockets = f"{'wss' if self._secure else 'ws'}://{self._host}" if _hostname(self._host) else ""
        return "; ".join(
            [
                "default-src 'none'",
                script,
                "script-src-attr 'none'",
                "style-src 'self' 'unsafe-inline'",
                "img-src 'self' data:",
                "font-src 'self' data:",
                f"connect-src 'self' {sockets}".rstrip(),
                "object-src 'none'",
                "base-uri 'none'",
                "form-action 'self'",
                "frame-ancestors 'none'",
            ]
        )


async def _reject(scope: Scope, receive: Receive, send: Send, status: int, reason: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": reason[:120]})
        return
    await PlainTextResponse(f"{reason}\n", status)(scope, receive, send)
