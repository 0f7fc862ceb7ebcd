"""Two clusters for programs that others wrote: an embedded one with workloads, and the real control plane."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from kubewright.cluster import Cluster
from kubewright.cluster.workloads import usual_plan
from kubewright.testing import ControlPlane, FakeNode, RealCluster

NODE = "node-1"


@pytest.fixture(scope="package")
def control_plane() -> Iterator[ControlPlane]:
    """With its controllers, and for this folder alone. Why a plugin is off stands in `known_differences.yaml`."""
    with ControlPlane(controllers=True, apiserver_flags={"disable-admission-plugins": "ServiceAccount"}) as plane:
        yield plane


@pytest_asyncio.fixture
async def real(control_plane: ControlPlane) -> AsyncIterator[RealCluster]:
    """The real cluster, with a node."""
    cluster = RealCluster(control_plane)
    async with FakeNode(cluster.client(), name=NODE, plan=usual_plan):
        yield cluster
    await cluster.stop()


@pytest_asyncio.fixture
async def served(request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    """An embedded cluster on a port, with the same node."""
    async with Cluster(seed=request.node.nodeid, workloads=True, rbac=True) as cluster:
        await cluster.serve()
        yield cluster
