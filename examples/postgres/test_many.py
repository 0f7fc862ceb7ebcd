"""A thousand clusters in one namespace: a bounded number of API calls for each, and none when nothing changes."""

from __future__ import annotations

from collections import Counter

import pytest
from fakes import FakeEngine, fake_patroni
from postgres_operator.kinds import Postgresql, State
from postgres_operator.operator import engine, operator
from worlds import minimal

from kubewright.cluster import Cluster
from kubewright.cluster.workloads import Workloads

CLUSTERS = 1000
MOST_WRITES = 18
"""For each cluster, from its creation to Running: five Secrets, three Services, four other children, the StatefulSet,
the finalizer, and at most four states."""


@pytest.mark.promise("Postgres example", "A thousand clusters need a bounded number of writes each, and no reads.")
@pytest.mark.timeout(1800)
async def test_thousand_clusters_need_a_bounded_number_of_calls() -> None:
    fake = FakeEngine()
    workloads = Workloads(nodes=1, heartbeat=None)
    async with Cluster(workloads=workloads, seed=1) as cluster, cluster.client() as client:
        lab = cluster.lab
        start = lab.journal[-1].number if lab.journal else 0
        own = cluster.client_as("operator", "system:masters")
        patroni = fake_patroni(fake).running(cluster.client_as("patroni", "system:masters"))
        async with patroni as elections, operator.running(own, replace=[engine.replaced_by(fake)]) as running:
            for number in range(CLUSTERS):
                await client.create(minimal(f"acid-{number}", number_of_instances=1))
            while Counter(one.status.state for one in await client.list(Postgresql)) != {State.RUNNING: CLUSTERS}:
                await cluster.settled()
                await elections.settled(timeout=1800)
                await running.settled(timeout=1800)
            calls = [entry for entry in lab.journal_since(start) if entry.user == "operator"]
            writes = Counter(entry.resource for entry in calls if entry.wrote and entry.resource != "events")
            assert writes.total() <= CLUSTERS * MOST_WRITES, writes
            reads = [entry for entry in calls if not entry.wrote]
            assert len(reads) < 100  # the caches answer; these start them
            await running.check_idempotent(timeout=1800)
