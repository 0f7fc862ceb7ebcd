"""A node of both clusters whose pods are processes of this machine, without a kubelet's other work."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kubewright.api import core
from kubewright.api.authorization import ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec
from kubewright.api.meta import ObjectMeta
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.http import ConnectionStream, Server
from kubewright.kubelet import (
    FEATURES,
    ContainerLog,
    KubeletServer,
    LocalProcess,
    LogOptions,
    RuntimeFailure,
    SessionProcess,
)

PATH = "/usr/local/bin:/usr/bin:/bin"


class Processes:
    """The pods of this node: each has a log, a command to attach to, and this machine's ports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = ContainerLog(folder / "0.log")

    def logs(
        self, namespace: str, pod: str, container: str, options: LogOptions, *, previous: bool
    ) -> AsyncIterator[bytes]:
        if previous:
            message = f'previous terminated container "{container}" in pod "{pod}" not found'
            raise RuntimeFailure(message, status=400)
        return self.log.read(options)

    async def exec(
        self, namespace: str, pod: str, container: str, command: Sequence[str], *, stdin: bool, tty: bool
    ) -> SessionProcess:
        return await LocalProcess.start(
            command,
            environment={"PATH": PATH, "CONTAINER": f"{namespace}/{pod}/{container}"},
            directory=str(self.folder),
            stdin=stdin,
            tty=tty,
        )

    async def attach(self, namespace: str, pod: str, container: str, *, stdin: bool, tty: bool) -> SessionProcess:
        command = ["sh", "-c", "echo attached; cat"]
        return await self.exec(namespace, pod, container, command, stdin=stdin, tty=tty)

    async def connect(self, namespace: str, pod: str, port: int) -> ConnectionStream:
        return await ConnectionStream.connect("127.0.0.1", port)


@pytest.fixture
def client(cluster: Cluster, namespace: str) -> Client:
    """A client of the administrator."""
    return cluster.client(namespace=namespace)


@pytest.fixture
async def processes(cluster: Cluster, client: Client, namespace: str, tmp_path: Path) -> AsyncIterator[Processes]:
    """The processes of the node on which the pod `web` runs."""
    name = f"node-{namespace}"

    async def authorize(user: str, groups: Sequence[str], verb: str, subresource: str) -> bool:
        attributes = ResourceAttributes(verb=verb, resource="nodes", subresource=subresource, name=name)
        spec = SubjectAccessReviewSpec(user=user, groups=list(groups), resource_attributes=attributes)
        review = await client.create(SubjectAccessReview(spec=spec))
        return review.status is not None and bool(review.status.allowed)

    made = Processes(tmp_path)
    kubelet = KubeletServer(made, authorize)
    tls = cluster.node_credentials(name).tls_context()
    async with Server(kubelet.handle, tls=tls) as server:
        node = await client.create(core.Node(metadata=ObjectMeta(name=name)))
        node.status = core.NodeStatus(
            addresses=[core.NodeAddress(type="InternalIP", address="127.0.0.1")],
            daemon_endpoints=core.NodeDaemonEndpoints(kubelet_endpoint=core.DaemonEndpoint(port=server.port)),
            declared_features=list(FEATURES),
        )
        await client.update_status(node)
        web = await client.create(pod("web", name))
        web.status = core.PodStatus(phase="Running")
        await client.update_status(web)
        yield made
        await client.delete(core.Pod, "web", grace_period_seconds=0)
        await client.delete(core.Node, name)


def pod(name: str, node: str | None, *containers: str) -> core.Pod:
    """Returns a pod that is bound to a node."""
    made = [core.Container(name=each, image="local") for each in containers or ("app",)]
    spec: Any = core.PodSpec(containers=made, node_name=node)
    return core.Pod(metadata=ObjectMeta(name=name), spec=spec)


@contextlib.asynccontextmanager
async def echo_server() -> AsyncIterator[int]:
    """Yields the port of a server that sends everything back, reversed."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read())[::-1])
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
