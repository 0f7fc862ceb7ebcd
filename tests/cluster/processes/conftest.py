"""A node of both clusters whose pods are small Python programs."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any, Protocol

import pytest

from kubewright.api import core, from_dict
from kubewright.client import Client, load_config
from kubewright.cluster import Cluster
from kubewright.cluster.processes import ApiServer, Image, Images, ProcessNode
from tests.patience import until

PYTHON = Image(
    command=[sys.executable, "-c"], allow_args=True, allow_exec=["*"], allow_environment=["PYTHON*"], args=["pass"]
)
SHELL = Image(command=["/bin/sh", "-c"], allow_args=True, allow_exec=["*"], args=["exec sleep 1000"])


class StartNode(Protocol):
    """Starts a node of the test's cluster that runs the images `python` and `sh`."""

    async def __call__(self, images: Images | None = None, **settings: Any) -> ProcessNode: ...


@pytest.fixture
def client(cluster: Cluster, namespace: str) -> Client:
    """A client of the administrator."""
    return cluster.client(namespace=namespace)


@pytest.fixture
async def start_node(cluster: Cluster, client: Client, namespace: str) -> AsyncIterator[StartNode]:
    """Starts nodes that end with the test."""
    url = await cluster.serve()
    ca = load_config(kubeconfig=cluster.kubeconfig()).tls.ca_data
    async with AsyncExitStack() as stack:

        async def start(images: Images | None = None, **settings: Any) -> ProcessNode:
            name = settings.setdefault("name", f"node-{namespace}")
            settings.setdefault("credentials", cluster.node_credentials(name))
            settings.setdefault("restart_delay", 0.01)
            node = ProcessNode(
                client,
                images or Images({"python": PYTHON, "sh": SHELL}),
                namespace=namespace,
                api_server=lambda: ApiServer(url, ca),
                **settings,
            )
            return await stack.enter_async_context(node)

        yield start


@pytest.fixture
async def node(start_node: StartNode) -> ProcessNode:
    """A running node."""
    return await start_node()


def pod(name: str, *containers: dict[str, Any], **spec: Any) -> core.Pod:
    """Returns a pod; the name and image of a container have defaults."""
    made = [{"name": f"c{number}", "image": "sh"} | container for number, container in enumerate(containers)]
    spec.setdefault("terminationGracePeriodSeconds", 5)
    spec.setdefault("automountServiceAccountToken", False)
    return from_dict(
        core.Pod,
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": made, **spec}},
    )


async def wait(client: Client, name: str, condition: Callable[[core.Pod], object]) -> core.Pod:
    """Waits until the condition holds for the pod."""

    async def found() -> core.Pod | None:
        got = await client.get(core.Pod, name)
        return got if condition(got) else None

    return await until(found, f"the condition of pod {name}")


async def phase(client: Client, name: str, *phases: str) -> core.Pod:
    """Waits for a phase of the pod."""
    return await wait(client, name, lambda got: got.status.phase in phases)


def is_ready(got: core.Pod) -> bool:
    """Returns whether the pod is ready."""
    return any(each.type == "Ready" and each.status == "True" for each in got.status.conditions or ())


async def log(client: Client, name: str, **settings: Any) -> list[str]:
    """Returns the lines of a container's log."""
    return [line async for line in client.logs(name, **settings)]


async def events(client: Client, name: str) -> dict[str, str]:
    """Returns the messages of a pod's events by reason."""
    found = await client.list(core.Event, client.namespace)  # other tests have pods of the same name
    return {str(each.reason): str(each.message) for each in found if each.involved_object.name == name}


async def event(client: Client, name: str, reason: str) -> str:
    """Waits for an event of the pod, and returns its message."""

    async def found() -> str | None:
        return (await events(client, name)).get(reason)

    return await until(found, f"the event {reason} of pod {name}")
