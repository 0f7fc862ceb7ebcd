"""Pods share 127.0.0.1 on a machine without other loopback addresses, such as macOS without aliases."""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import Any

import pytest

from kubewright.api import core, from_dict
from kubewright.client import Client
from kubewright.cluster.processes import ProcessNode
from kubewright.cluster.services import PORTS_ANNOTATION, LoopbackAddresses, ServiceForwarder
from tests.cluster.processes.conftest import StartNode, event, is_ready, log, pod, wait
from tests.patience import until
from tests.ports import unused_port

pytestmark = pytest.mark.clusters

SERVER = """
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(os.environ["HOSTNAME"].encode())
    def log_message(self, *_): pass
print(os.environ["KUBEWRIGHT_PORT_PORT"], flush=True)
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["KUBEWRIGHT_PORT_PORT"])), Handler).serve_forever()
"""


def only_one_address(address: str, port: int) -> socket.socket:
    raise OSError(errno.EADDRNOTAVAIL, "Can't assign requested address")


@pytest.fixture
def port() -> int:
    """A port that is free on 127.0.0.1."""
    return unused_port()


@pytest.fixture
async def node(start_node: StartNode) -> ProcessNode:
    """A node without loopback addresses of its own."""
    return await start_node(addresses=LoopbackAddresses(bind=only_one_address))


def web(name: str, port: int) -> core.Pod:
    probe = {"httpGet": {"port": "web"}, "periodSeconds": 1, "timeoutSeconds": 60}
    container: dict[str, Any] = {
        "image": "python",
        "args": [SERVER.replace("PORT_PORT", f"PORT_{port}")],
        "ports": [{"name": "web", "containerPort": port}],
        "readinessProbe": probe,
    }
    made = pod(name, container)
    made.metadata.labels = {"app": "web"}
    return made


async def fetch(host: str, port: int) -> str:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return answer.rpartition(b"\r\n\r\n")[2].decode()


@pytest.mark.promise("Pods as processes", "Without loopback addresses, two replicas with one port get different ports.")
async def test_replicas_with_one_port_get_ports_of_their_own(client: Client, node: ProcessNode, port: int) -> None:
    for name in ("web-1", "web-2"):
        await client.create(web(name, port))
        await wait(client, name, is_ready)  # the first one gets the port itself
    one, two = [await client.get(core.Pod, name) for name in ("web-1", "web-2")]
    assert one.status.pod_ip == two.status.pod_ip == "127.0.0.1"
    assert (one.metadata.annotations or {})[PORTS_ANNOTATION] == f"{port}={port}"
    [used] = await log(client, "web-2")
    assert (two.metadata.annotations or {})[PORTS_ANNOTATION] == f"{port}={used}"
    assert int(used) != port
    message = await event(client, "web-2", "SharedAddress")
    assert message.endswith(f": port {port} is {used} ($KUBEWRIGHT_PORT_{port})")
    for name in ("web-1", "web-2"):
        async with client.port_forward(name, port) as forward:
            assert await fetch("127.0.0.1", forward.port) == name


async def test_service_leads_to_the_ports_of_its_pods(
    client: Client, node: ProcessNode, namespace: str, port: int
) -> None:
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "web"}]}
    await client.create(from_dict(core.Service, {"metadata": {"name": "web"}, "spec": spec}))
    for name in ("web-1", "web-2"):
        await client.create(web(name, port))
    for name in ("web-1", "web-2"):
        await wait(client, name, is_ready)
    async with ServiceForwarder(client) as forwarder:
        await until(lambda: len(forwarder.targets(namespace, "web", 80)) == 2, "two targets")
        address = forwarder.address(namespace, "web", 80)
        assert address is not None
        assert {await fetch(*address) for _ in range(2)} == {"web-1", "web-2"}
