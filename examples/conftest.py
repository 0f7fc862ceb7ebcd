"""The clusters that the examples are tried on, each test on both: an embedded one with workloads, and a real one.

The real control plane has kube-controller-manager: its own garbage collector and Deployment controller are at work. One
serves all tests of this folder. In a project of your own, `pytest.mark.clusters` is all you need.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from foo import Foo
from network import Network
from password import Password

from kubewright.client import BlockingClient, Client
from kubewright.crd import crds_of
from kubewright.testing import ControlPlane, FakeNode


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """The control plane of these tests, with controllers."""
    with ControlPlane(log_directory=request.config.getoption("--control-plane-logs")) as plane:
        with BlockingClient.connect(kubeconfig=plane.kubeconfig) as client:
            for crd in crds_of(Foo, Network, Password):
                client.create(crd)
        # After that, since the garbage collector looks for new kinds only every 30 seconds.
        plane.ensure_controllers()
        yield plane


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    """The embedded cluster runs Deployments, too."""
    return {"workloads": True}


@pytest.fixture
async def nodes(cluster_kind: str, client: Client, namespace: str) -> AsyncIterator[None]:
    """Pods become ready: on the real control plane, which has no nodes, through one that needs no machine."""
    async with contextlib.AsyncExitStack() as stack:
        if cluster_kind == "real":
            await stack.enter_async_context(FakeNode(client, name=f"node-{namespace}", namespace=namespace))
        yield
