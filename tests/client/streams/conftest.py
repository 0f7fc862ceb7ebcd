"""An API server with one pod, `web`, whose container is this machine: commands run as processes, ports are local."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from kubewright.client import Client, ClientConfig
from kubewright.http import ByteStream, ConnectionStream, Server, ServerRequest, ServerResponse
from kubewright.kubelet import LocalProcess, serve_port_forward, serve_session
from kubewright.streaming import (
    CHANNEL_PROTOCOLS,
    PORT_FORWARD_PROTOCOL,
    ChannelSocket,
    HandshakeError,
    WebSocket,
    accept_upgrade,
)

POD = "/api/v1/namespaces/default/pods/web/"
PATH = "/usr/local/bin:/usr/bin:/bin"


class PodServer:
    """The handler, and what the client asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.protocols: tuple[str, ...] = CHANNEL_PROTOCOLS
        self.asked: list[tuple[str, dict[str, list[str]]]] = []

    async def handle(self, request: ServerRequest) -> ServerResponse:
        if not request.path.startswith(POD):
            status = b'{"kind":"Status","code":404,"reason":"NotFound","message":"pods \\"other\\" not found"}'
            return ServerResponse(404, status, [("Content-Type", "application/json")])
        name, query = request.path.removeprefix(POD), parse_qs(request.query)
        self.asked.append((name, query))
        protocols = (PORT_FORWARD_PROTOCOL,) if name == "portforward" else self.protocols
        try:
            headers = accept_upgrade(request.headers, protocols)
        except HandshakeError as error:
            return ServerResponse(400, str(error).encode())

        async def upgraded(stream: ByteStream) -> None:
            socket = WebSocket(stream, is_client=False)
            if name == "portforward":
                await serve_port_forward(socket, lambda port: ConnectionStream.connect("127.0.0.1", port))
                return
            process = await LocalProcess.start(
                query["command"],
                environment={"PATH": PATH},
                directory=str(self.folder),
                stdin="stdin" in query,
                tty="tty" in query,
            )
            await serve_session(ChannelSocket(socket, headers["Sec-WebSocket-Protocol"]), process)

        return ServerResponse(101, headers=[*headers.items()], upgrade=upgraded)


@pytest.fixture
def pod_server(tmp_path: Path) -> PodServer:
    """The server's handler; its container's working directory is `container`."""
    folder = tmp_path / "container"
    folder.mkdir()
    return PodServer(folder)


@pytest.fixture
async def client(pod_server: PodServer) -> AsyncIterator[Client]:
    """A client of that server."""
    async with (
        Server(pod_server.handle) as server,
        Client(ClientConfig(server=f"http://127.0.0.1:{server.port}"), namespace="default") as client,
    ):
        yield client
