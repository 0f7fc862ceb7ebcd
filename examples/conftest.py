"""Where the examples are tried: on the real control plane, and on an embedded cluster; Deployments get pods on both.

The real one has kube-controller-manager: the real garbage collector and Deployment controller are at work. A project of
your own needs none of this: `pytest --control-plane-controllers` starts one, too.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from foo import Foo
from memcached import Memcached
from network import Network
from password import Password

from kubewright.client import BlockingClient, Client
from kubewright.crd import crds_of
from kubewright.testing import ControlPlane, FakeNode


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    """The embedded cluster has controllers, too, and runs Deployments."""
    return {"controllers": True, "workloads": True}


@pytest.fixture
async def nodes(cluster_kind: str, client: Client, namespace: str) -> AsyncIterator[None]:
    """Pods become ready: on the real control plane, which has no nodes, through one that needs no machine."""
    async with contextlib.AsyncExitStack() as stack:
        if cluster_kind == "real":
            await stack.enter_async_context(FakeNode(client, name=f"node-{namespace}", namespace=namespace))
        yield


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """The control plane of these tests, with controllers."""
    with ControlPlane(log_directory=request.config.getoption("--control-plane-logs")) as plane:
        with BlockingClient.connect(kubeconfig=plane.kubeconfig) as client:
            for crd in crds_of(Foo, Memcached, Network, Password):
                client.create(crd)
        # After that, since the garbage collector looks for new kinds only every 30 seconds.
        plane.ensure_controllers()
        yield plane
