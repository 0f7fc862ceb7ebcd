"""The guard around everything that is served: which requests are ours, and what browsers may do with the answers.

Pure ASGI, before any other code, web sockets included.

- `Host` must be a name that the server was told: else a name of somebody else could be made to point here (DNS
  rebinding), and his page would be ours to the browser.
- `Origin` must be our own for everything that changes something and for every web socket: a page of another site must
  not act for whoever is signed in here (CSRF, cross-site web-socket hijacking).
- Answers may not be framed, and load nothing from elsewhere. A script runs only if it came with our page: those carry a
  nonce, and an attribute such as `onerror` in the content of an object never does.
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
"""Where a request's scope has the address of the client: the peer's, or the one that a trusted proxy forwards."""

SECURE: Final = "kubewright.secure"
"""Where a request's scope says whether it came by TLS."""

HEALTH: Final = "/healthz"
SOCKETS: Final = "/_nicegui_ws/"
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST: Final = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::\d{1,5})?")
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
# Said by whoever sends the request: of no use to us, and NiceGUI would put the prefix into the page.
_DROPPED: Final = frozenset(
    {b"x-forwarded-prefix", b"x-forwarded-host", b"x-forwarded-proto", b"x-forwarded-for", b"forwarded"}
)


class AllowedHosts:
    """By which names the server may be called: those of loopback always, and those that it was told."""

    def __init__(self, urls: Iterable[str] = (), hosts: Collection[str] = ()) -> None:
        """Addresses under which it is reached (`https://console.example.com`), and addresses that it listens at."""
        self.origins = frozenset(_origin(url) for url in urls)
        self._external = frozenset((urlsplit(url).hostname or "").lower() for url in self.origins)
        self._hosts = _LOOPBACK | frozenset(host.lower() for host in hosts)

    def allows(self, host: str) -> bool:
        """Whether a Host header is one of ours. Ports do not matter: a forwarded one is any."""
        name = _hostname(host)
        return name in self._hosts or name in self._external

    def is_secure(self, host: str) -> bool:
        """Whether we are reached under this name by TLS: then so are all cookies."""
        name = _hostname(host)
        return any(_hostname(urlsplit(url).netloc) == name and url.startswith("https:") for url in self.origins)

    def is_same_origin(self, origin: str, host: str) -> bool:
        """Whether an Origin is ours, in a request for this Host."""
        try:
            parts = urlsplit(origin)
            parts.port  # noqa: B018  # raises for what is no port
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
    """An ASGI application around another one. `secure` says that it is reached by TLS."""

    def __init__(
        self, application: ASGIApp, names: AllowedHosts, *, secure: bool = False, trusted_proxies: Iterable[str] = ()
    ) -> None:
        self._application = application
        self._names = names
        self._secure = secure
        self._proxies = [ipaddress.ip_network(one) for one in trusted_proxies]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on."""
        if scope["type"] not in ("http", "websocket"):
            await self._application(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if scope["type"] == "http" and scope["path"] == HEALTH:
            # Probes come by the pod's address, and hear nothing but this.
            await PlainTextResponse("ok\n")(scope, receive, send)
            return
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(scope, receive, self._sending(send, scope, headers), *refusal)
            return
        scope[SECURE] = self._is_secure(headers)
        peer = (scope.get("client") or ("",))[0]
        scope[CLIENT_ADDRESS] = client_address(peer, headers.getlist("x-forwarded-for"), self._proxies)
        scope["headers"] = [one for one in scope["headers"] if one[0].lower() not in _DROPPED]
        await self._application(scope, receive, self._sending(send, scope, headers))

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._names.allows(hosts[0]):
            shown = "".join(letter for letter in (hosts or ["?"])[0] if letter.isprintable())[:100]
            return 421, (
                f"This console does not answer to the name {shown}. "
                "If it is right, start the console with --url and the address that you opened."
            )
        origins = headers.getlist("origin")
        socket = scope["type"] == "websocket"
        if origins:
            if len(origins) != 1 or not self._names.is_same_origin(origins[0], hosts[0]):
                return 403, "This request comes from a page of another site, and is refused."
        elif socket or scope["method"] not in _SAFE:
            return 403, "This request does not say which page it comes from (Origin), and is refused."
        if SOCKETS in scope["path"] and headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return 403, "This request comes from a page of another site, and is refused."
        return None

    def _sending(self, send: Send, scope: Scope, headers: Headers) -> Send:
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
    """Returns the address of the client: the last one in `X-Forwarded-For` that is not a trusted proxy.

    The header counts only if the peer is a trusted proxy, and only as far as it names addresses.
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
    """The headers of an answer, and the nonce of its scripts."""

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
                self._start = message  # its length changes with the body
                return
        elif message["type"] == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if message.get("more_body"):
                return
            # The content of objects is in there too, but never with a "<": NiceGUI writes it as an entity.
            body = self._body.replace(b"<script", b'<script nonce="%s"' % self._nonce.encode())
            start, self._start = self._start, None
            MutableHeaders(raw=start["headers"])["content-length"] = str(len(body))
            await self._send(start)
            message = {**message, "body": body}
        await self._send(message)

    def _protect(self, headers: MutableHeaders) -> None:
        for name in [name for name in headers if name.startswith("access-control-")]:
            del headers[name]  # nobody else's pages read our answers
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
        # Vue compiles templates in the browser, which is an eval; Quasar and AG Grid write styles.
        script = f"script-src 'self' 'nonce-{self._nonce}' 'unsafe-eval'" if self._nonce else "script-src 'self'"
        # Not every browser takes web sockets to ourselves for 'self'. A name that is not ours is not repeated.
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


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, reason: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": reason[:120]})
        return
    await PlainTextResponse(f"{reason}\n", status)(scope, receive, send)
