"""Both clusters with cluster IPs on loopback, and pods that are servers in this process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from kubewright.api import core
from kubewright.api.meta import ObjectMeta
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.cluster.services import LoopbackAddresses, LoopbackBlock, ServiceForwarder
from kubewright.testing import ControlPlane, RealCluster
from tests.patience import until


@pytest.fixture(scope="package")
def loopback_plane() -> Iterator[ControlPlane]:
    """A control plane whose cluster IPs are on loopback."""
    block = LoopbackBlock.for_services()
    with ControlPlane(apiserver_flags={"service-cluster-ip-range": str(block.network)}) as plane:
        yield plane
    block.close()


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.control_plane)])
async def loopback(request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    """Each cluster with cluster IPs on loopback. The embedded one listens on a port, like the real one."""
    if request.param == "embedded":
        async with Cluster(service_range="loopback", controllers=False) as cluster:
            await cluster.serve()
            yield cluster
    else:
        real: Any = RealCluster(request.getfixturevalue("loopback_plane"))
        yield real
        await real.stop()


@pytest.fixture
async def shop(loopback: Cluster) -> AsyncIterator[Client]:
    """A client with its own namespace."""
    client = loopback.client()
    made = await client.create(core.Namespace(metadata=ObjectMeta(generate_name="shop-")))
    yield loopback.client(namespace=made.metadata.name)
    await client.delete(core.Namespace, made.metadata.name)


@pytest.fixture
async def forwarder(loopback: Cluster) -> AsyncIterator[ServiceForwarder]:
    """The forwarder of the cluster: the embedded one starts its own."""
    if isinstance(loopback, Cluster):
        yield loopback.forwarder
    else:
        async with ServiceForwarder(loopback.client()) as made:
            yield made


@pytest.fixture
def addresses() -> Iterator[LoopbackAddresses]:
    """Addresses of pods."""
    made = LoopbackAddresses()
    yield made
    made.close()


async def run_pod(client: Client, name: str, address: str, *ports: core.ContainerPort, ready: bool = True) -> core.Pod:
    """Creates a pod that a node has started at an address, with the label `app: web`."""
    containers = [core.Container(name="app", image="app", ports=list(ports))]
    spec = core.PodSpec(node_name="this-machine", containers=containers)
    pod = await client.create(core.Pod(metadata=ObjectMeta(name=name, labels={"app": "web"}), spec=spec))
    pod.status = core.PodStatus(
        phase="Running",
        pod_ip=address,
        pod_ips=[core.PodIP(ip=address)],
        conditions=[core.PodCondition(type="Ready", status="True" if ready else "False")],
    )
    return await client.update_status(pod)


async def create_service(client: Client, name: str, *ports: core.ServicePort, **spec: Any) -> core.Service:
    """Creates a Service for pods with the label `app: web`."""
    spec.setdefault("selector", {"app": "web"})
    return await client.create(
        core.Service(metadata=ObjectMeta(name=name), spec=core.ServiceSpec(ports=list(ports), **spec))
    )


Server = Callable[[str, int], AbstractAsyncContextManager[int]]


@contextlib.asynccontextmanager
async def serving(address: str, answer: str, port: int = 0) -> AsyncIterator[int]:
    """Yields the port of a server that sends its answer, and then everything that it has received."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            writer.write(f"{answer}:".encode())
            writer.write(await reader.read())
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, address, port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def ask(address: tuple[str, int], sent: bytes = b"") -> str:
    """Connects, sends bytes, and returns everything that is received; empty if the connection is reset."""
    try:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(sent)
        writer.write_eof()
        received = await reader.read()
        writer.close()
    except ConnectionError:
        return ""
    return received.decode()


async def until_targets(forwarder: ServiceForwarder, service: core.Service, count: int, port: int = 80) -> None:
    """Waits until a port of a Service leads to so many addresses."""
    place = (service.metadata.namespace or "", service.metadata.name, port)
    await until(
        lambda: forwarder.address(*place) is not None and len(forwarder.targets(*place)) == count, f"{count} targets"
    )
