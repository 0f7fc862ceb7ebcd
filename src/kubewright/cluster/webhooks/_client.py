"""Calls admission and conversion webhooks over TLS, with a timeout. Error messages are those of kube-apiserver.

A `clientConfig` has a URL or names a Service. Services of an embedded cluster have no machines behind them, so
`WebhookClient` resolves a Service to:

1. the address that the program registered: `Cluster(services=...)`, `Cluster.resolve_service`;
2. the port on which a `ServiceForwarder` forwards it to pods, if pods are programs on this machine;
3. an endpoint of the Service whose address belongs to this machine.

Timeouts are in real seconds, because the webhook is a real program. A call holds the cluster's clock.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import errno
import socket
from collections.abc import Callable
from posixpath import normpath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

import msgspec

from kubewright.client import ConfigError, ConnectionLost, Request, TooLarge
from kubewright.clock import Clock
from kubewright.cluster.machinery._local_addresses import is_local
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.machinery._responses import encode
from kubewright.cluster.storage._storage import Storage

if TYPE_CHECKING:
    import ssl

    from kubewright.client import HttpOrigin

__all__ = ["UnusableConfig", "WebhookCallError", "WebhookClient"]

_MAX_RESPONSE_BYTES: Final = 16 * 1024 * 1024
_MAX_TEXT: Final = 2048
_MAX_ORIGINS: Final = 200
_SAFE_CHARACTERS: Final = "/?%:@!$&'()*+,;=-._~"  # unescaped characters in the path and query of a URL
_HEADERS: Final = (
    ("Content-Type", "application/json"),
    ("Accept", "application/json"),
    ("Accept-Encoding", "gzip"),
    ("User-Agent", "kube-apiserver"),
)
_UNKNOWN_AUTHORITY: Final = (2, 7, 18, 19, 20, 21)
_EXPIRED: Final = (9, 10)
_WRONG_NAME: Final = (62, 64)
_MESSAGES: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


class WebhookCallError(Exception):
    """The call failed; the message is that of kube-apiserver."""


class UnusableConfig(WebhookCallError):
    """The configuration is invalid: there is nothing to call."""


class WebhookClient:
    """Calls the webhooks of one cluster.

    `services` maps `namespace/name` to `host:port`. `route` returns host and port for a port of a Service, or None.
    """

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self.services: dict[str, str] = {}
        self.route: Callable[[str, str, int], tuple[str, int] | None] = lambda namespace, name, port: None
        self._storage = storage
        self._clock = clock
        self._origins: dict[tuple[str, str, str], HttpOrigin] = {}

    async def post(self, config: JSONObject, body: JSONObject, seconds: int) -> bytes:
        """Sends a review and returns the body of a successful response. Raises `WebhookCallError`."""
        url, address, name = self._address(config, seconds)
        # The review's uid identifies the hold: a webhook server in this process uses it.
        with self._clock.hold(f"the webhook at {url}", body["request"]["uid"]):
            return await self._post(config, body, seconds, url, address, name)

    async def _post(
        self, config: JSONObject, body: JSONObject, seconds: int, url: str, address: Any, name: str
    ) -> bytes:
        try:
            target = address() if callable(address) else address
            origin = await self._origin(url, target, name, config.get("caBundle") or "")
            async with asyncio.timeout(seconds):
                return await self._exchange(url, target, origin, encode(body))
        except TimeoutError:
            raise WebhookCallError(f'Post "{url}": context deadline exceeded') from None
        except _Unresolved as error:
            _trust_context(config.get("caBundle") or "")  # reports an invalid CA bundle first
            raise WebhookCallError(f'Post "{url}": {error}') from None

    async def close(self) -> None:
        """Closes all connections."""
        origins, self._origins = self._origins, {}
        for origin in origins.values():
            await origin.close()

    # Addresses

    def _address(self, config: JSONObject, seconds: int) -> tuple[str, Any, str]:
        """Returns the URL for messages, the address to connect to, and the name to verify if it differs."""
        query = f"?timeout={seconds}s"
        service = config.get("service")
        if service is None:
            url = config.get("url") or ""
            parts = urlsplit(url)
            return parts._replace(path=_joined_path(parts.path)).geturl() + query, parts.netloc, ""
        namespace, name, port = service.get("namespace", ""), service.get("name", ""), service.get("port") or 443
        host = f"{name}.{namespace}.svc"
        path = _joined_path(service.get("path") or "")
        return f"https://{host}:{port}{path}{query}", lambda: self._resolve(namespace, name, port), host

    def _resolve(self, namespace: str, name: str, port: int) -> str:
        """Returns the address of a Service."""
        if (named := self.services.get(f"{namespace}/{name}")) is not None:
            return named
        service = self._storage.get("/services", namespace, name)
        if service is None:
            raise _Unresolved(f'service "{name}" not found')
        spec = service.decode().get("spec") or {}
        if spec.get("type") == "ExternalName":  # regardless of its ports
            return f"{spec.get('externalName')}:{port}"
        wanted = next((each for each in spec.get("ports") or () if each.get("port") == port), None)
        if wanted is None:
            raise _Unresolved(f'no service port {port} found for service "{name}"')
        if (found := self.route(namespace, name, port)) is not None:
            return f"{found[0]}:{found[1]}"
        elsewhere = ""
        for entry in self._storage.entries("discovery.k8s.io/endpointslices", namespace):
            if (entry.labels or {}).get("kubernetes.io/service-name") == name:
                for host, address in _ready(entry.decode(), wanted.get("name") or ""):
                    if is_local(host):
                        return address
                    elsewhere = address
        if not elsewhere:
            raise _Unresolved(f'no endpoints available for service "{name}"')
        raise _Unresolved(
            f'nothing listens at {elsewhere}, the endpoint of service "{name}": pods of the embedded cluster run no'
            f" program. Run the operator on this machine (`kubewright dev`, `kubewright run --webhook-url`, or"
            " operator.running(...) in a test), or name its address in Cluster(services=...)"
        )

    # Connections

    async def _origin(self, url: str, address: str, name: str, bundle: str) -> HttpOrigin:
        """Returns the connections to an address, with the CA bundle and the server name of this webhook."""
        key = (address, name, bundle)
        found = self._origins.pop(key, None)
        if found is None:
            from kubewright.client import HttpOrigin

            host = urlsplit(url).netloc if name else None
            try:
                found = HttpOrigin(
                    f"https://{address}",
                    tls=_trust_context(bundle),
                    server_name=name or None,
                    host=host,
                    max_response_bytes=_MAX_RESPONSE_BYTES,
                )
            except ValueError:
                raise WebhookCallError(f'Post "{url}": invalid URL') from None
        self._origins[key] = found  # ordered by last use
        if len(self._origins) > _MAX_ORIGINS:
            unused = next((each for each, origin in self._origins.items() if each != key and not origin.busy), None)
            if unused is not None:
                await self._origins.pop(unused).close()
        return found

    async def _exchange(self, url: str, address: str, origin: HttpOrigin, body: bytes) -> bytes:
        import ssl

        try:
            return await _sent(url, origin, body)
        except ssl.SSLCertVerificationError as error:
            raise WebhookCallError(f'Post "{url}": {_certificate_problem(error)}') from None
        except ssl.SSLError as error:
            raise WebhookCallError(f'Post "{url}": {_tls_problem(error)}') from None
        except socket.gaierror:
            host = urlsplit(f"//{address}").hostname
            raise WebhookCallError(f'Post "{url}": dial tcp: lookup {host}: no such host') from None
        except TooLarge:
            raise WebhookCallError(f"the answer is longer than {_MAX_RESPONSE_BYTES} bytes") from None
        except ConnectionLost as error:
            problem = "EOF" if error.sent else f"dial tcp {_dialled(address)}: i/o timeout"
            raise WebhookCallError(f'Post "{url}": {problem}') from None
        except TimeoutError:
            raise
        except OSError as error:
            raise WebhookCallError(f'Post "{url}": dial tcp {_dialled(address)}: {_connect_problem(error)}') from None


async def _sent(url: str, origin: HttpOrigin, body: bytes) -> bytes:
    parts = urlsplit(url)
    target = quote(f"{parts.path}?{parts.query}" if parts.query else parts.path, safe=_SAFE_CHARACTERS)
    # A review changes nothing, so it can be sent again if a kept-alive connection was closed.
    request = Request(method="POST", path=target, headers=dict(_HEADERS), body=body, repeatable=True)
    response = await origin.send(request)
    content = await response.read()
    kind = response.headers.get("Content-Type", "")
    if not 200 <= response.status <= 206:
        raise WebhookCallError(_error_message(response.status, content, kind))
    if not content:
        said = f"0-length response with status code: {response.status} and content type:"
        raise WebhookCallError(f"{said} {kind or 'application/json'}")
    return content


def _trust_context(bundle: str) -> ssl.SSLContext:
    """Returns a TLS context that trusts these CAs, in base64; default: those of the system.

    As in Go, each may also be the certificate of the server itself, as with envtest.
    """
    from kubewright.client import tls_context

    try:
        return tls_context(base64.b64decode(bundle, validate=True) or None)
    except (binascii.Error, ConfigError):
        raise UnusableConfig("unable to load root certificates: unable to parse bytes as PEM block") from None


class _Unresolved(Exception):
    """A Service without an address."""


def _joined_path(path: str) -> str:
    """Returns the path as Go's `path.Join` does, which the real server uses for the URL: `//a/./b/` is `/a/b`."""
    return "/" + normpath(f"/{path}").lstrip("/")


def _dialled(address: str) -> str:
    parts = urlsplit(f"//{address}")
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}:{parts.port or 443}"


def _connect_problem(error: OSError) -> str:
    if error.errno == errno.ECONNREFUSED or isinstance(error, ConnectionRefusedError):
        return "connect: connection refused"
    return f"connect: {(error.strerror or str(error)).lower()}"


def _tls_problem(error: Exception) -> str:
    if getattr(error, "reason", "") in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return "http: server gave HTTP response to HTTPS client"
    return f"remote error: tls: {(getattr(error, 'reason', '') or 'handshake failure').replace('_', ' ').lower()}"


def _certificate_problem(error: Exception) -> str:
    start = "tls: failed to verify certificate: x509: "
    code = getattr(error, "verify_code", 0)
    if code in _UNKNOWN_AUTHORITY:
        return start + "certificate signed by unknown authority"
    if code in _EXPIRED:
        return start + "certificate has expired or is not yet valid"
    if code in _WRONG_NAME:
        return start + "certificate is not valid for that name"
    return start + str(getattr(error, "verify_message", error))


def _error_message(status: int, content: bytes, kind: str) -> str:
    """Returns the message of an error response: that of its Status, or the meaning of its status code."""
    try:
        body = msgspec.json.decode(content)
    except msgspec.DecodeError:
        body = None
    if isinstance(body, dict) and body.get("kind") == "Status" and body.get("status") != "Success":
        return str(body.get("message", ""))
    text = "unknown"
    if kind.partition(";")[0].strip().startswith("text/"):
        text = content[:_MAX_TEXT].decode(errors="replace").strip()
    if status in _MESSAGES:
        return _MESSAGES[status]
    if status in (403, 415):
        return text
    if status >= 500:
        return f"an error on the server ({encode(text).decode()}) has prevented the request from succeeding"
    return f"the server responded with the status code {status} but did not return more information"


def _ready(piece: JSONObject, port_name: str) -> list[tuple[str, str]]:
    """Yields the ready hosts of an EndpointSlice with their addresses."""
    port = next((each for each in piece.get("ports") or () if (each.get("name") or "") == port_name), None)
    if port is None or port.get("port") is None:
        return []
    ready = [each for each in piece.get("endpoints") or () if (each.get("conditions") or {}).get("ready") is not False]
    hosts = [each["addresses"][0] for each in ready if each.get("addresses")]
    return [(host, f"[{host}]:{port['port']}" if ":" in host else f"{host}:{port['port']}") for host in hosts]
