"""`pods/log`, `pods/exec`, `pods/attach` and `pods/portforward`, from the kubelet of the pod's node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kubewright.client import ConnectionLost, HttpOrigin, HttpResponse, Request
from kubewright.cluster._state import State
from kubewright.cluster.access import access_request_of, subprotocols
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.dispatch._dispatcher import Dispatcher
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import (
    Failure,
    bad_request,
    internal,
    method_not_allowed,
    not_found,
    unsupported,
)
from kubewright.cluster.machinery._forwarded_body import ForwardedBody
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.machinery._responses import ApiResponse
from kubewright.cluster.machinery._unsupported import REFUSED_SUBRESOURCES
from kubewright.cluster.nodes._pod_calls import pod_of
from kubewright.http import ByteStream, is_same_origin, join_streams

if TYPE_CHECKING:  # it imports certificates
    from kubewright.cluster.kubelets._connections import KubeletConnections

__all__ = ["PodStreams"]

_NODES: Final = "nodes"
_STREAMS: Final = {"exec": "exec", "attach": "attach", "portforward": "portForward"}
_LOG_OPTIONS: Final = ("follow", "previous", "timestamps", "sinceSeconds", "sinceTime", "tailLines", "limitBytes")
_FLAGS: Final = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
_REQUEST_HEADERS: Final = (
    "Connection",
    "Upgrade",
    "Sec-WebSocket-Key",
    "Sec-WebSocket-Version",
    "Sec-WebSocket-Protocol",
)
_RESPONSE_HEADERS: Final = ("Connection", "Upgrade", "Sec-WebSocket-Accept", "Sec-WebSocket-Protocol")
_HEAD_SECONDS: Final = 30.0
_MAX_ERROR_BYTES: Final = 64 * 1024


class PodStreams:
    """Serves the streams of pods. Connections and certificates are created on first use."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._access = dispatcher.access
        self._made: KubeletConnections | None = None
        dispatcher.supported |= {f"pods/{name}" for name in ("log", *_STREAMS)}
        dispatcher.overrides.append(self.override)

    @property
    def connections(self) -> KubeletConnections:
        """The connections to kubelets."""
        if self._made is None:
            from kubewright.cluster.kubelets._connections import KubeletConnections

            self._made = KubeletConnections()
        return self._made

    async def close(self) -> None:
        """Closes all connections."""
        if self._made is not None:
            await self._made.close()

    async def override(self, state: State, call: Call) -> ApiResponse | None:
        """Serves a stream of a pod; None for any other request."""
        if call.type.qualified != "pods" or call.subresource not in ("log", *_STREAMS):
            return None
        if call.subresource == "log":
            return await self._log(state, call)
        return await self._stream(state, call)

    async def _log(self, state: State, call: Call) -> ApiResponse:
        if call.verb != "get":
            raise method_not_allowed()
        pod = pod_of(state, call)[1]
        container = _container(pod, call.query.get("container", ""))
        if not pod["spec"].get("nodeName"):
            return ApiResponse(status=204)
        origin = self._kubelet(state, call, pod)
        query = [(name, call.query[name]) for name in _LOG_OPTIONS if call.query.get(name)]
        query.append(("stream", call.query.get("stream") or "All"))
        request = Request(
            method="GET",
            path=f"/containerLogs/{call.namespace}/{call.name}/{container}",
            query=query,
            timeout=None if call.flag("follow") else _HEAD_SECONDS,
            stream=True,
        )
        response = await _send(state, call, origin, request)
        if response.status != 200:
            raise await _failure(call, response)
        return ApiResponse(stream=ForwardedBody(response), content_type="text/plain")

    async def _stream(self, state: State, call: Call) -> ApiResponse:
        if call.request.method not in ("GET", "POST"):
            raise method_not_allowed()
        # A WebSocket begins with GET, which must not need less permission than POST.
        self._access.authorizer.check(access_request_of(call.request, call.user).to("create"))
        pod = pod_of(state, call)[1]
        path = f"/{_STREAMS[call.subresource]}/{call.namespace}/{call.name}"
        query: list[tuple[str, str]] = []
        if call.subresource != "portforward":
            path = f"{path}/{_container(pod, call.query.get('container', ''))}"
            query = [(short, "1") for name, short in _FLAGS.items() if call.flag(name)]
            query += [pair for pair in call.request.query if pair[0] == "command"]
        if not pod["spec"].get("nodeName"):
            raise bad_request(f"pod {call.name} does not have a host assigned")
        origin = self._kubelet(state, call, pod)
        headers = _upgrade_headers(call)
        request = Request(method="GET", path=path, query=query, headers=headers, timeout=_HEAD_SECONDS, stream=True)
        request.upgrade = True
        response = await _send(state, call, origin, request)
        if response.status != 101:
            raise await _failure(call, response)
        found = {name: response.headers[name] for name in _RESPONSE_HEADERS if name in response.headers}
        upstream = response.upgraded()

        async def joined(stream: ByteStream) -> None:
            await join_streams(stream, upstream)

        return ApiResponse(status=101, headers=found, upgrade=joined)

    def _kubelet(self, state: State, call: Call, pod: JSONObject) -> HttpOrigin:
        name = pod["spec"]["nodeName"]
        type_ = state.types.find("", "v1", _NODES)
        assert type_ is not None
        found = state.storage.get(type_.storage, "", name)
        if found is None:
            raise not_found(type_, name)
        origin = self.connections.to(decoded(type_, found))
        if origin is None:
            raise unsupported(REFUSED_SUBRESOURCES[call.subresource])
        return origin


def _container(pod: JSONObject, name: str) -> str:
    """Returns the named container, or the only one. Raises a 400."""
    spec: dict[str, Any] = pod["spec"]
    names = [
        each["name"]
        for kind in ("initContainers", "containers", "ephemeralContainers")
        for each in spec.get(kind) or ()
    ]
    pod_name = pod["metadata"]["name"]
    if name:
        if name not in names:
            raise bad_request(f"container {name} is not valid for pod {pod_name}")
        return name
    if len(spec["containers"]) > 1:
        raise bad_request(f"a container name must be specified for pod {pod_name}, choose one of: [{' '.join(names)}]")
    return str(spec["containers"][0]["name"])


def _upgrade_headers(call: Call) -> dict[str, str]:
    """Returns the headers of the WebSocket handshake, without a token. Raises a 400 for another request."""
    if call.header("Upgrade").lower() != "websocket":
        raise bad_request(
            "Upgrade request required: only WebSocket is supported, plain SPDY is not (use kubectl 1.31 or later)"
        )
    if not is_same_origin(call.header("Origin"), call.header("Host")):
        raise Failure(403, "Forbidden", "the Origin of this WebSocket request is another host")
    headers = {name: call.header(name) for name in _REQUEST_HEADERS if call.header(name)}
    headers["Sec-WebSocket-Protocol"] = subprotocols(call.request)
    return headers


async def _send(state: State, call: Call, origin: HttpOrigin, request: Request) -> HttpResponse:
    try:
        with state.clock.hold(f"the kubelet for {call.subresource} of pod {call.name}"):
            return await origin.send(request)
    except (OSError, ConnectionLost) as error:
        raise internal(f"error dialing backend: {error}") from None


async def _failure(call: Call, response: HttpResponse) -> Failure:
    """Returns the error for a request that the kubelet rejected."""
    text = (await response.read())[:_MAX_ERROR_BYTES].decode("utf-8", "replace").strip()
    if response.status == 400:
        return bad_request(text)
    if response.status == 404:
        what = f"pods/{call.subresource} {call.name}"
        return Failure(404, "NotFound", f"the server could not find the requested resource ( {what})")
    return internal(text)
