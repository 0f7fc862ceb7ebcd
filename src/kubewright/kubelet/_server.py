"""`KubeletServer`: the HTTPS endpoints of a node that an API server connects to.

| path | answer |
|---|---|
| `/containerLogs/{namespace}/{pod}/{container}` | the log, with the options of `kubectl logs` |
| `/exec/{namespace}/{pod}/{container}` | a command, by WebSocket (`v5.channel.k8s.io`) |
| `/attach/{namespace}/{pod}/{container}` | the main process, by WebSocket |
| `/portForward/{namespace}/{pod}` | ports, by WebSocket (`SPDY/3.1+portforward.k8s.io`) |
| `/healthz` | `ok` |

A client needs a certificate of the node's CA, and `authorize` must allow it. A WebSocket request with an `Origin` of
another host is refused: a browser would send its certificate with it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import parse_qs, unquote

from kubewright.http import ByteStream, ConnectionStream, ServerRequest, ServerResponse
from kubewright.kubelet._logs import LogOptions
from kubewright.kubelet._processes import SessionProcess
from kubewright.kubelet._sessions import failure_status, serve_port_forward, serve_session
from kubewright.streaming import (
    CHANNEL_PROTOCOLS,
    PORT_FORWARD_PROTOCOL,
    Channel,
    ChannelSocket,
    HandshakeError,
    WebSocket,
    accept_upgrade,
)

__all__ = ["FEATURES", "Authorize", "KubeletServer", "PodRuntime", "RuntimeFailure"]

logger = logging.getLogger("kubewright.kubelet")

FEATURES: Final = ("ExtendWebSocketsToKubelet",)
"""`status.declaredFeatures` of the node: kube-apiserver then passes WebSockets on without translating them to SPDY."""

_MAX_ARGUMENTS: Final = 1024
Authorize: TypeAlias = Callable[[str, Sequence[str], str, str], Awaitable[bool]]
"""Whether a user with these groups may use a verb on a subresource of the node."""


class RuntimeFailure(Exception):
    """A request that the node cannot fulfill. `status` is the HTTP status: 404 for an unknown pod or container."""

    def __init__(self, message: str, *, status: int = 500) -> None:
        super().__init__(message)
        self.status = status


class PodRuntime(Protocol):
    """The pods of a node. Methods raise `RuntimeFailure`."""

    def logs(
        self, namespace: str, pod: str, container: str, options: LogOptions, *, previous: bool
    ) -> AsyncIterator[bytes]:
        """Yields the log of a container, or of its run before the last restart."""

    async def exec(
        self, namespace: str, pod: str, container: str, command: Sequence[str], *, stdin: bool, tty: bool
    ) -> SessionProcess:
        """Starts a command in a container."""

    async def attach(self, namespace: str, pod: str, container: str, *, stdin: bool, tty: bool) -> SessionProcess:
        """Connects to the main process of a container."""

    async def connect(self, namespace: str, pod: str, port: int) -> ConnectionStream:
        """Opens a connection to a port of a pod. Raises OSError if nothing listens there."""


class KubeletServer:
    """Answers the requests for one node; `handle` is the handler of a `Server` with TLS."""

    def __init__(self, runtime: PodRuntime, authorize: Authorize) -> None:
        self._runtime = runtime
        self._authorize = authorize

    async def handle(self, request: ServerRequest) -> ServerResponse:
        """Answers one request."""
        parts = [unquote(part) for part in request.path.strip("/").split("/")]
        if parts == ["healthz"]:
            return ServerResponse(200, b"ok")
        verb = "get" if parts[0] == "containerLogs" else "create"
        refused = await self._refused(request, verb)
        if refused is not None:
            return refused
        query = parse_qs(request.query, keep_blank_values=True, max_num_fields=_MAX_ARGUMENTS)
        try:
            match parts:
                case ["containerLogs", namespace, pod, container]:
                    return self._logs(namespace, pod, container, query)
                case [("exec" | "attach") as kind, namespace, pod, container]:
                    return await self._session(request, kind, namespace, pod, container, query)
                case ["portForward", namespace, pod]:
                    return self._port_forward(request, namespace, pod)
        except HandshakeError as error:
            return _text(error.status, str(error))
        except RuntimeFailure as failure:
            return _text(failure.status, str(failure))
        except ValueError as error:
            return _text(400, f"invalid query: {error}")
        return _text(404, "404 page not found")

    async def _refused(self, request: ServerRequest, verb: str) -> ServerResponse | None:
        if not request.certificate:
            return _text(401, "Unauthorized: a client certificate is required")
        user, groups = request.certificate_names()
        if not await self._authorize(user, groups, verb, "proxy"):
            return _text(403, f"Forbidden (user={user}, verb={verb}, resource=nodes, subresource=proxy)")
        return None

    def _logs(self, namespace: str, pod: str, container: str, query: dict[str, list[str]]) -> ServerResponse:
        options = _log_options(query)
        pieces = self._runtime.logs(namespace, pod, container, options, previous=_flag(query, "previous"))
        return ServerResponse(200, pieces, [("Content-Type", "text/plain")])

    async def _session(
        self, request: ServerRequest, kind: str, namespace: str, pod: str, container: str, query: dict[str, list[str]]
    ) -> ServerResponse:
        headers = accept_upgrade(request.headers, CHANNEL_PROTOCOLS)
        stdin, tty = _flag(query, "input"), _flag(query, "tty")
        command = query.get("command", [])
        if kind == "exec" and not command:
            raise RuntimeFailure("you must specify at least one command", status=400)

        async def run(stream: ByteStream) -> None:
            channels = ChannelSocket(WebSocket(stream, is_client=False), headers["Sec-WebSocket-Protocol"])
            try:
                if kind == "exec":
                    process = await self._runtime.exec(namespace, pod, container, command, stdin=stdin, tty=tty)
                else:
                    process = await self._runtime.attach(namespace, pod, container, stdin=stdin, tty=tty)
            except (OSError, RuntimeFailure) as error:
                await channels.send(Channel.ERROR, failure_status(_reason(kind, command, error)))
                await channels.close()
                return
            await serve_session(channels, process)

        return ServerResponse(101, headers=[*headers.items()], upgrade=run)

    def _port_forward(self, request: ServerRequest, namespace: str, pod: str) -> ServerResponse:
        headers = accept_upgrade(request.headers, (PORT_FORWARD_PROTOCOL,))

        async def run(stream: ByteStream) -> None:
            socket = WebSocket(stream, is_client=False)
            await serve_port_forward(socket, lambda port: self._runtime.connect(namespace, pod, port))

        return ServerResponse(101, headers=[*headers.items()], upgrade=run)


def _reason(kind: str, command: Sequence[str], error: Exception) -> str:
    if isinstance(error, RuntimeFailure):
        return str(error)
    shown = command[0] if command else kind
    return f"error executing command in container: {shown}: {getattr(error, 'strerror', None) or error}"


def _log_options(query: dict[str, list[str]]) -> LogOptions:
    since = None
    if text := _last(query, "sinceTime"):
        since = datetime.fromisoformat(text.replace("Z", "+00:00"))
        if since.tzinfo is None:
            raise ValueError("sinceTime has no time zone")
    elif (seconds := _number(query, "sinceSeconds")) is not None:
        since = datetime.now(UTC) - timedelta(seconds=min(seconds, 10**9))
    stream: Any = _last(query, "stream").lower()
    return LogOptions(
        follow=_flag(query, "follow"),
        timestamps=_flag(query, "timestamps"),
        tail_lines=_number(query, "tailLines"),
        since=since,
        limit_bytes=_number(query, "limitBytes"),
        stream=stream if stream in ("stdout", "stderr") else None,
    )


def _last(query: dict[str, list[str]], name: str) -> str:
    return query.get(name, [""])[-1]


def _flag(query: dict[str, list[str]], name: str) -> bool:
    return _last(query, name) in ("1", "true")


def _number(query: dict[str, list[str]], name: str) -> int | None:
    text = _last(query, name)
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ValueError(f"{name} is not a number")
    return int(text)


def _text(status: int, message: str) -> ServerResponse:
    return ServerResponse(status, message.encode(), [("Content-Type", "text/plain; charset=utf-8")])
