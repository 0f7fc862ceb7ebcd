"""Calls to webhooks, of admission and of conversion: over TLS, with a time limit; failures in the real server's words.

A `clientConfig` has a URL, or names a Service. A Service of an embedded cluster has no machine behind it, so `Callees`
looks it up: first among the addresses that the program has named (`Cluster(services=...)`), then among the endpoints of
the Service that are addresses of this machine.

Time limits are by the machine's clock, whatever the cluster's: the other side is a real program.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import errno
import socket
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from kubewright.cluster._answers import encode
from kubewright.cluster._kinds import JSONObject
from kubewright.cluster._storage import Storage

if TYPE_CHECKING:
    import ssl

    from aiohttp import ClientSession

__all__ = ["CallError", "Callees", "UnusableConfig"]

_LARGEST_ANSWER: Final = 16 * 1024 * 1024
_LONGEST_TEXT: Final = 2048
_MOST_CONTEXTS: Final = 200
_UNKNOWN_AUTHORITY: Final = (18, 19, 20, 21)
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


class CallError(Exception):
    """The webhook could not be asked, or did not answer; the text is the real server's."""


class UnusableConfig(CallError):
    """There is nothing that could be called: the configuration makes no sense."""


class Callees:
    """The webhooks that one cluster calls. `services` maps `namespace/name` to `host:port`."""

    def __init__(self, storage: Storage, services: dict[str, str] | None = None) -> None:
        self.services: dict[str, str] = dict(services or {})
        self._storage = storage
        self._session: ClientSession | None = None
        self._contexts: dict[str, ssl.SSLContext] = {}

    async def post(self, config: JSONObject, body: JSONObject, seconds: int) -> bytes:
        """Send a review, and the body of a good answer. Raises `CallError`."""
        url, address, name = self._place(config, seconds)
        try:
            context = self._context(config.get("caBundle") or "")
            target = url if address is None else _at(url, address() if callable(address) else address)
            async with asyncio.timeout(seconds):
                return await self._exchange(url, target, name, context, encode(body))
        except TimeoutError:
            raise CallError(f'Post "{url}": context deadline exceeded') from None
        except _Unresolved as error:
            raise CallError(f'Post "{url}": {error}') from None

    async def close(self) -> None:
        """Give up all connections."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    # Where

    def _place(self, config: JSONObject, seconds: int) -> tuple[str, Any, str]:
        """The URL as messages show it, the address to connect to if that is another, and the name to be certified."""
        query = f"?timeout={seconds}s"
        service = config.get("service")
        if service is None:
            url = config.get("url") or ""
            path = urlsplit(url).path
            return (url if path else f"{url}/") + query, None, ""
        namespace, name, port = service.get("namespace", ""), service.get("name", ""), service.get("port") or 443
        host = f"{name}.{namespace}.svc"
        path = (service.get("path") or "/").removeprefix("/")
        return f"https://{host}:{port}/{path}{query}", lambda: self._resolve(namespace, name, port), host

    def _resolve(self, namespace: str, name: str, port: int) -> str:
        """The address of a Service."""
        if (named := self.services.get(f"{namespace}/{name}")) is not None:
            return named
        service = self._storage.get("/services", namespace, name)
        if service is None:
            raise _Unresolved(f'service "{name}" not found')
        spec = service.decode().get("spec") or {}
        if spec.get("type") == "ExternalName":  # whatever ports it has
            return f"{spec.get('externalName')}:{port}"
        wanted = next((each for each in spec.get("ports") or () if each.get("port") == port), None)
        if wanted is None:
            raise _Unresolved(f'no service port {port} found for service "{name}"')
        for entry in self._storage.entries("discovery.k8s.io/endpointslices", namespace):
            if (entry.labels or {}).get("kubernetes.io/service-name") == name:
                for address in _ready(entry.decode(), wanted.get("name") or ""):
                    return address
        raise _Unresolved(f'no endpoints available for service "{name}"')

    # How

    def _context(self, bundle: str) -> ssl.SSLContext:
        found = self._contexts.get(bundle)
        if found is None:
            import ssl

            try:
                authorities = base64.b64decode(bundle, validate=True).decode()
                found = ssl.create_default_context(cadata=authorities or None)
            except (binascii.Error, ssl.SSLError, ValueError):
                problem = "unable to load root certificates: unable to parse bytes as PEM block"
                raise UnusableConfig(problem) from None
            if len(self._contexts) >= _MOST_CONTEXTS:
                self._contexts.clear()
            self._contexts[bundle] = found
        return found

    async def _exchange(self, url: str, target: str, name: str, context: ssl.SSLContext, body: bytes) -> bytes:
        from aiohttp import (
            ClientConnectorCertificateError,
            ClientConnectorDNSError,
            ClientConnectorError,
            ClientError,
            ClientOSError,
            ServerDisconnectedError,
        )

        try:
            try:
                return await self._sent(url, target, name, context, body)
            except ClientConnectorError:
                raise
            except (ServerDisconnectedError, ClientOSError):
                # A connection that was kept from an earlier call, to a program that has gone since.
                return await self._sent(url, target, name, context, body)
        except ClientConnectorCertificateError as error:
            raise CallError(f'Post "{url}": {_certificate_problem(error.certificate_error)}') from None
        except ClientConnectorDNSError:
            raise CallError(f'Post "{url}": dial tcp: lookup {urlsplit(target).hostname}: no such host') from None
        except ClientConnectorError as error:
            raise CallError(f'Post "{url}": dial tcp {_dialled(target)}: {_connect_problem(error.os_error)}') from None
        except ClientError:
            raise CallError(f'Post "{url}": EOF') from None

    async def _sent(self, url: str, target: str, name: str, context: ssl.SSLContext, body: bytes) -> bytes:
        from aiohttp import ClientSession, TCPConnector

        if self._session is None:
            self._session = ClientSession(connector=TCPConnector(limit=0))
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "kube-apiserver"}
        if name:
            headers["Host"] = urlsplit(url).netloc
        async with self._session.post(
            target, data=body, headers=headers, ssl=context, server_hostname=name or None, allow_redirects=False
        ) as response:
            content = b""
            async for part in response.content.iter_any():
                content += part
                if len(content) > _LARGEST_ANSWER:
                    raise CallError(f"the answer is longer than {_LARGEST_ANSWER} bytes")
            kind = response.headers.get("Content-Type", "")
            if not 200 <= response.status <= 206:
                raise CallError(_refused(response.status, content, kind))
            if not content:
                said = f"0-length response with status code: {response.status} and content type:"
                raise CallError(f"{said} {kind or 'application/json'}")
            return content


class _Unresolved(Exception):
    """A Service without an address."""


def _at(url: str, address: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=address).geturl()


def _dialled(target: str) -> str:
    parts = urlsplit(target)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}:{parts.port or 443}"


def _connect_problem(error: OSError) -> str:
    if error.errno == errno.ECONNREFUSED or isinstance(error, ConnectionRefusedError):
        return "connect: connection refused"
    return f"connect: {(error.strerror or str(error)).lower()}"


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


def _refused(status: int, content: bytes, kind: str) -> str:
    """What an answer with a bad status says: the message of the Status in it, or what the status stands for."""
    try:
        body = msgspec.json.decode(content)
    except msgspec.DecodeError:
        body = None
    if isinstance(body, dict) and body.get("kind") == "Status" and body.get("status") != "Success":
        return str(body.get("message", ""))
    text = "unknown"
    if kind.partition(";")[0].strip().startswith("text/"):
        text = content[:_LONGEST_TEXT].decode(errors="replace").strip()
    if status in _MESSAGES:
        return _MESSAGES[status]
    if status in (403, 415):
        return text
    if status >= 500:
        return f"an error on the server ({encode(text).decode()}) has prevented the request from succeeding"
    return f"the server responded with the status code {status} but did not return more information"


def _ready(piece: JSONObject, port_name: str) -> list[str]:
    """The addresses of an EndpointSlice that are ready and on this machine."""
    port = next((each for each in piece.get("ports") or () if (each.get("name") or "") == port_name), None)
    if port is None or port.get("port") is None:
        return []
    ready = [each for each in piece.get("endpoints") or () if (each.get("conditions") or {}).get("ready") is not False]
    hosts = [each["addresses"][0] for each in ready if each.get("addresses")]
    return [f"[{host}]:{port['port']}" if ":" in host else f"{host}:{port['port']}" for host in hosts if _is_here(host)]


def _is_here(address: str) -> bool:
    """Whether an address is one of this machine: only such can be bound. Pods without machines have others."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True
