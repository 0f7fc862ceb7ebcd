"""Both clusters with their controllers, on a port: certificates need TLS."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from kubewright.cluster import Cluster
from kubewright.testing import ControlPlane, RealCluster
from tests.cluster.certificates.requester import Requester


@pytest.fixture(scope="package")
def control_plane() -> Iterator[ControlPlane]:
    """For this folder alone: its controllers sign, and would change the objects of other tests."""
    with ControlPlane(controllers=True) as plane:
        yield plane


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    return {"rbac": True}


@pytest_asyncio.fixture
async def requester(cluster: Cluster | RealCluster) -> AsyncIterator[Requester]:
    await cluster.serve()
    made = Requester(cluster)
    yield made
    await made.close()
