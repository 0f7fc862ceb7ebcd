"""Clusters with RBAC, workloads, and an audit log of the requests of service accounts."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.testing import ControlPlane, FakeNode, RealCluster
from tests.deploying.records import POLICY, AuditLog, Record, Requests


@pytest.fixture(scope="session")
def audit_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that kube-apiserver writes its audit log to."""
    return tmp_path_factory.mktemp("audit") / "audit.log"


@pytest.fixture(scope="package")
def control_plane(audit_log: Path) -> Iterator[ControlPlane]:
    """A control plane with controllers, which keeps an audit log."""
    policy = audit_log.with_name("policy.yaml")
    policy.write_text(POLICY)
    flags = {"audit-policy-file": str(policy), "audit-log-path": str(audit_log)}
    with ControlPlane(controllers=True, apiserver_flags=flags) as plane:
        yield plane


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    """Configures the embedded cluster like the real one: RBAC, controllers and workloads."""
    return {"controllers": True, "workloads": True, "rbac": True}


@pytest.fixture
async def nodes(cluster: Cluster | RealCluster, client: Client, namespace: str) -> AsyncIterator[None]:
    """Nodes for the pods in the test's namespace, on both clusters. Pods of operators are not scheduled."""
    async with contextlib.AsyncExitStack() as stack:
        if isinstance(cluster, RealCluster):
            await stack.enter_async_context(FakeNode(client, name=f"node-{namespace}", namespace=namespace))
        yield


@pytest.fixture
def record(request: pytest.FixtureRequest, cluster: Cluster | RealCluster) -> Record:
    """The responses in the server's audit log."""
    if isinstance(cluster, Cluster):
        return Requests(cluster)
    return AuditLog(request.getfixturevalue("audit_log"))
