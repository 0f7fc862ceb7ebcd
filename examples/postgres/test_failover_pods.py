"""Failover for real: Patroni and PostgreSQL run in pods of a process node, and their primary disappears.

The pods come from a StatefulSet that is written in `patroni_pods`, so that these tests do not depend on the operator.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from patroni_pods import NAME, PatroniPods, Relays
from postgres_server import marks

from kubewright.cluster import Cluster
from kubewright.cluster.processes import Images
from kubewright.cluster.workloads import Workloads
from tests.patience import until

pytestmark = [
    *marks,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.getuid() != 0, reason="mount namespaces and the user postgres need root"),
]
IMAGES = Path(__file__).with_name("images.toml")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pods() -> AsyncIterator[PatroniPods]:
    """Two pods, with RBAC: Patroni has the rights of its own service account alone."""
    async with Cluster(workloads=Workloads(processes=Images.read(IMAGES)), rbac=True) as cluster:
        parts = urlsplit(await cluster.serve())
        relays = Relays((parts.hostname or "", parts.port or 443), 2)
        await relays.start()
        try:
            made = PatroniPods(cluster.client(namespace="default"), relays)
            await made.create(2)
            yield made
        finally:
            await relays.stop()


async def test_bootstraps_a_primary_and_a_streaming_replica(pods: PatroniPods) -> None:
    members = await pods.healthy(2)
    assert sorted(each.role for each in members) == ["leader", "sync_standby"]
    roles = {pod.metadata.name: (pod.metadata.labels or {}).get("spilo-role") for pod in await pods.pods()}
    assert roles == {each.name: "master" if each.is_leader else "replica" for each in members}
    leader = await pods.leader()
    await pods.endpoints_follow(leader.name)


async def test_logs_in_through_the_services_with_the_password_of_the_secret(pods: PatroniPods) -> None:
    await pods.healthy(2)
    await pods.query("CREATE TABLE writes (number int PRIMARY KEY)")
    await pods.query("INSERT INTO writes VALUES (1)")

    async def replayed() -> bool:
        return await pods.query("SELECT number FROM writes", f"{NAME}-repl") == [(1,)]

    await until(replayed, "the write on the replica", every=0.2)
    assert await pods.query("SELECT pg_is_in_recovery()", f"{NAME}-repl") == [(True,)]
    assert await pods.query("SELECT pg_is_in_recovery()") == [(False,)]
