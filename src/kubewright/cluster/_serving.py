"""The cluster on a port: HTTP on aiohttp, TLS with a CA of its own, and who may come in.

Imported on first use: aiohttp and cryptography are slow to import, and clients in this process need neither.
"""

from __future__ import annotations

import secrets
import ssl
import tempfile
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import parse_qsl

from aiohttp import web
from multidict import CIMultiDict

from kubewright._certificates import CertificateAuthority, KeyPair
from kubewright.client import Request
from kubewright.cluster._answers import Answer, NoAnswer
from kubewright.cluster._calls import User
from kubewright.cluster._dispatch import Dispatcher
from kubewright.cluster._failures import Failure
from kubewright.cluster._kubeconfig import write_kubeconfig

__all__ = ["Serving"]

_ADMIN: Final = ("kubewright-admin", ("system:masters",))
_AUTHENTICATED: Final = "system:authenticated"
_LARGEST_BODY: Final = 3 * 1024 * 1024
_HOSTS: Final = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.96.0.1")
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_GOING_SECONDS: Final = 1.0


class Serving:
    """One listening port. Everyone needs a certificate of its CA or a token; those who have neither are anonymous."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._folder = tempfile.TemporaryDirectory(prefix="kubewright-cluster-")
        self.token = secrets.token_urlsafe(32)
        dispatcher.access.tokens.add(self.token, User(_ADMIN[0], (*_ADMIN[1], _AUTHENTICATED)))
        self._authority: CertificateAuthority | None = None
        self._admin: KeyPair | None = None
        self._streams: set[Answer] = set()
        self._runner: web.ServerRunner | None = None
        self.url = ""

    @classmethod
    async def open(cls, dispatcher: Dispatcher, *, host: str, port: int, tls: bool) -> Self:
        """Listen. Raises OSError when the port is taken, ValueError for a host that needs TLS."""
        if not tls and host not in _LOOPBACK:
            raise ValueError(f"without TLS the cluster listens on this machine alone, not on {host}: use tls=True")
        serving = cls(dispatcher)
        try:
            await serving._listen(host, port, serving._secured(host) if tls else None)
        except BaseException:
            await serving.close()
            raise
        return serving

    async def _listen(self, host: str, port: int, context: ssl.SSLContext | None) -> None:
        # Cancelled handlers: a client that goes away must not leave its watch behind.
        server = web.Server(self._handle, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=_GOING_SECONDS)
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port, ssl_context=context).start()
        bound = self._runner.addresses[0][1]
        shown = f"[{host}]" if ":" in host else host
        self.url = f"{'http' if context is None else 'https'}://{shown}:{bound}"

    def _secured(self, host: str) -> ssl.SSLContext:
        self._authority = CertificateAuthority("kubewright-cluster")
        self._admin = self._authority.issue(*_ADMIN)
        self._dispatcher.state.ca_certificate = self._authority.pair.certificate.decode()
        folder = Path(self._folder.name)
        hosts = tuple(dict.fromkeys((host, "127.0.0.1", *_HOSTS)))
        certificate, key = self._authority.issue("kube-apiserver", hosts=hosts).write(folder, "server")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.load_verify_locations(cadata=self._authority.pair.certificate.decode())
        context.verify_mode = ssl.CERT_OPTIONAL  # a token will do, too
        return context

    async def close(self) -> None:
        """End watches and connections, and remove the files."""
        for answer in list(self._streams):
            answer.close()
        if self._runner is not None:
            await self._runner.cleanup()
        self._folder.cleanup()

    def kubeconfig(self, path: Path | None) -> Path:
        """Write the administrator's kubeconfig; its path."""
        path = path or Path(self._folder.name) / "admin.kubeconfig"
        authority = self._authority
        write_kubeconfig(
            path,
            server=self.url,
            ca=None if authority is None else authority.pair.certificate,
            user=_ADMIN[0],
            credentials=self._admin or self.token,
        )
        return path

    # Requests

    async def _handle(self, incoming: web.BaseRequest) -> web.StreamResponse:
        headers = CIMultiDict(incoming.headers)
        request = Request(
            method=incoming.method,
            path=incoming.rel_url.raw_path,
            query=parse_qsl(incoming.rel_url.raw_query_string, keep_blank_values=True),
            headers=headers,
        )
        user, came = None, {"uri": incoming.raw_path, "source": incoming.remote or ""}
        try:
            user = self._user(incoming, request)
            headers.popall("Authorization", None)  # nobody needs it any more
            request.body = await _body(incoming)
        except Failure as failure:
            return _whole(self._dispatcher.refuse(request, failure, user, **came))
        try:
            answer = await self._dispatcher.handle(request, user, **came)
        except NoAnswer:
            if incoming.transport is not None:
                incoming.transport.abort()
            return web.Response(status=500)  # which nobody gets
        return _whole(answer) if answer.stream is None else await self._streamed(incoming, answer)

    def _user(self, incoming: web.BaseRequest, request: Request) -> User:
        transport = incoming.transport
        certificate: Any = transport.get_extra_info("peercert") if transport is not None else None
        if certificate:
            return _named(certificate)
        return self._dispatcher.access.authenticate(request)

    async def _streamed(self, incoming: web.BaseRequest, answer: Answer) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=_headers(answer))
        self._streams.add(answer)
        try:
            await response.prepare(incoming)
            async for chunk in answer.chunks():
                await response.write(chunk)
            await response.write_eof()
        except ConnectionError:
            pass  # the client has gone; so does its watch
        finally:
            self._streams.discard(answer)
            answer.close()
        return response


def _named(certificate: Any) -> User:
    """Who a client certificate is for: the common name, and its organizations as groups."""
    names = [pair for part in certificate.get("subject", ()) for pair in part]
    user = next((value for name, value in names if name == "commonName"), "")
    groups = tuple(value for name, value in names if name == "organizationName")
    return User(user, (*groups, _AUTHENTICATED))


async def _body(incoming: web.BaseRequest) -> bytes | None:
    if not incoming.can_read_body:
        return None
    parts, size = [], 0
    async for part in incoming.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > _LARGEST_BODY:
            raise Failure(413, "RequestEntityTooLarge", f"Request entity too large: limit is {_LARGEST_BODY}")
    return b"".join(parts)


def _headers(answer: Answer) -> CIMultiDict[str]:
    headers = CIMultiDict(answer.headers)
    headers["Cache-Control"] = "no-cache, private"
    for warning in answer.warnings():
        headers.add("Warning", warning)
    return headers


def _whole(answer: Answer) -> web.Response:
    return web.Response(status=answer.status, headers=_headers(answer), body=answer.body)
