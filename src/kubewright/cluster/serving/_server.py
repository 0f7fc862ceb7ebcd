"""Serves the cluster on a port: HTTP, TLS with its own CA, authentication.

Imported on first use: cryptography is slow to import, and clients in this process do not need it.
"""

from __future__ import annotations

import hashlib
import secrets
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Self
from urllib.parse import parse_qsl

from kubewright.certificates import CertificateAuthority, KeyPair
from kubewright.client import Request, RequestHeaders, ResponseBody
from kubewright.cluster.access import subprotocols
from kubewright.cluster.dispatch._dispatcher import Dispatcher
from kubewright.cluster.machinery._calls import User
from kubewright.cluster.machinery._failures import Failure, unauthorized
from kubewright.cluster.machinery._responses import ApiResponse, NoResponse
from kubewright.cluster.machinery._slow_callbacks import SlowCallbacks
from kubewright.cluster.serving._blocked_loop import make_watchdog, metrics_of
from kubewright.http import BodyTooLarge, DropConnection, Server, ServerLimits, ServerRequest, ServerResponse
from kubewright.kubeconfig import write_kubeconfig
from kubewright.turns import Turns

__all__ = ["LIMITS", "MAX_BODY_BYTES", "Serving"]

_ADMIN: Final = ("kubewright-admin", ("system:masters",))
_ADMIN_LIFE: Final = timedelta(days=36500)
_AUTHENTICATED: Final = "system:authenticated"
MAX_BODY_BYTES: Final = 3 * 1024 * 1024
_CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"
_PROTOCOLS: Final = "Sec-WebSocket-Protocol"
_NO_CHECK_TIME: Final = 0x200000  # X509_V_FLAG_NO_CHECK_TIME of OpenSSL
_HOSTS: Final = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
# As in API Priority and Fairness, health checks and leader election do not wait for other requests.
_URGENT: Final = ("/healthz", "/livez", "/readyz", "/apis/coordination.k8s.io/")
# Each watch has a connection. Idle connections have a separate limit, the default.
LIMITS: Final = ServerLimits(connections=1400)


class Serving:
    """A listening port. Clients authenticate with a certificate of its CA or a token; others are anonymous."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._folder = tempfile.TemporaryDirectory(prefix="kubewright-cluster-")
        self.token = secrets.token_urlsafe(32)
        dispatcher.access.tokens.add(self.token, User(_ADMIN[0], (*_ADMIN[1], _AUTHENTICATED)))
        self._authority: CertificateAuthority | None = None
        self._admin: KeyPair | None = None
        self._server: Server | None = None
        self._watchdog = make_watchdog()
        self._slow_callbacks = SlowCallbacks()
        self._turns = Turns()
        self.url = ""

    @classmethod
    async def open(cls, dispatcher: Dispatcher, *, host: str, port: int, tls: bool) -> Self:
        """Listens. Raises OSError if the port is in use, ValueError for a host that needs TLS."""
        if not tls and host not in _LOOPBACK:
            raise ValueError(f"without TLS the cluster listens only on loopback, not on {host}; pass tls=True")
        serving = cls(dispatcher)
        try:
            await serving._listen(host, port, serving._tls_context(host) if tls else None)
        except BaseException:
            await serving.close()
            raise
        return serving

    async def _listen(self, host: str, port: int, context: ssl.SSLContext | None) -> None:
        # Cancels handlers of closed connections: otherwise their watches would stay open.
        server = Server(
            self._handle,
            host=host,
            port=port,
            tls=context,
            limits=LIMITS,
            cancel_on_disconnect=True,
            turns=self._turns,
            is_urgent=_is_urgent,
        )
        self._server = await server.__aenter__()
        self._watchdog.start()
        self._dispatcher.metrics = lambda: metrics_of(self._watchdog) + self._slow_callbacks.metrics()
        self._dispatcher.state.slow_callbacks = self._slow_callbacks
        self._dispatcher.turns = self._turns
        shown = f"[{host}]" if ":" in host else host
        self.url = f"{'http' if context is None else 'https'}://{shown}:{server.port}"

    def _tls_context(self, host: str) -> ssl.SSLContext:
        state = self._dispatcher.state
        self._authority = state.authority
        # Valid as long as the authority, by every clock.
        self._admin = self._authority.issue(*_ADMIN, now=min(datetime.now(UTC), state.clock.now()), life=_ADMIN_LIFE)
        state.ca_certificate = self._authority.pair.certificate.decode()
        folder = Path(self._folder.name)
        hosts = tuple(dict.fromkeys((host, "127.0.0.1", *_HOSTS, str(state.service_range[1]))))
        certificate, key = self._authority.issue("kube-apiserver", hosts=hosts).write(folder, "server")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.load_verify_locations(cadata=self._authority.pair.certificate.decode())
        context.verify_mode = ssl.CERT_OPTIONAL  # clients may authenticate with a token instead
        context.verify_flags |= _NO_CHECK_TIME  # `_certificate_user` uses the cluster's clock
        return context

    async def close(self) -> None:
        """Ends watches and connections, and removes the files."""
        if self._server is not None:
            self._dispatcher.state.end_watches()
            server, self._server = self._server, None
            self._watchdog.stop()
            self._dispatcher.metrics = self._dispatcher.turns = self._dispatcher.state.slow_callbacks = None
            await server.__aexit__(None, None, None)
        self._folder.cleanup()

    def kubeconfig(self, path: Path | None) -> Path:
        """Writes the administrator's kubeconfig and returns its path."""
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

    async def _handle(self, incoming: ServerRequest) -> ServerResponse:
        headers = RequestHeaders(incoming.headers.pairs())
        request = Request(
            method=incoming.method,
            path=incoming.path,
            query=parse_qsl(incoming.query, keep_blank_values=True),
            headers=headers,
        )
        user, uri = None, f"{incoming.path}?{incoming.query}" if incoming.query else incoming.path
        try:
            user = self._user(incoming, request)
            headers.pop("Authorization", None)  # not needed after authentication
            if _PROTOCOLS in headers:
                headers[_PROTOCOLS] = subprotocols(request)  # without a token
            request.body = await _body(incoming)
        except Failure as failure:
            return _response(self._dispatcher.reject(request, failure, user, uri=uri, source=incoming.peer))
        try:
            with self._dispatcher.state.clock.serving(incoming.peer_address):
                handling = self._dispatcher.handle(request, user, uri=uri, source=incoming.peer)
                response = await self._slow_callbacks.measured(f"{request.method} {request.path}", handling)
        except NoResponse:
            raise DropConnection from None
        return _response(response)

    def _user(self, incoming: ServerRequest, request: Request) -> User:
        now = self._dispatcher.state.clock.now().timestamp()
        found = _certificate_user(incoming, now)
        return found or self._dispatcher.access.authenticate(request)


def _is_urgent(incoming: ServerRequest) -> bool:
    return incoming.path.startswith(_URGENT)


def _certificate_user(incoming: ServerRequest, now: float) -> User | None:
    """Returns the user of a client certificate: the common name, and the organizations as groups.

    None without a certificate or a common name. Raises a 401 if the certificate is not valid now.
    """
    user, groups = incoming.certificate_names()
    if not user:
        return None
    start, end = (ssl.cert_time_to_seconds(incoming.certificate[name]) for name in ("notBefore", "notAfter"))
    if not start <= now <= end:
        raise unauthorized()
    credential = f"X509SHA256={hashlib.sha256(incoming.certificate_bytes).hexdigest()}"
    return User(user, (*groups, _AUTHENTICATED), extra={_CREDENTIAL_ID: (credential,)})


async def _body(incoming: ServerRequest) -> bytes | None:
    try:
        return await incoming.body(largest=MAX_BODY_BYTES) or None
    except BodyTooLarge:
        too_large = f"Request entity too large: limit is {MAX_BODY_BYTES}"
        raise Failure(413, "RequestEntityTooLarge", too_large) from None


def _response(response: ApiResponse) -> ServerResponse:
    if response.upgrade is not None:
        return ServerResponse(response.status, headers=response.headers.pairs(), upgrade=response.upgrade)
    headers = response.headers.pairs()
    if "Cache-Control" not in response.headers:
        headers.append(("Cache-Control", "no-cache, private"))
    headers += [("Warning", warning) for warning in response.warnings()]
    return ServerResponse(
        response.status, response.body if response.stream is None else ResponseBody(response), headers
    )
