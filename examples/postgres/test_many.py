"""Many clusters in one namespace: a bounded number of API calls for each, none when nothing changes, steady memory.

`python -m benchmarks.postgres` measures a thousand of them.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from postgres_operator.kinds import Postgresql, State
from postgres_operator.operator import engine, operator
from postgres_operator.simulated import SimulatedEngine
from worlds import minimal

import kubewright as kw
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.cluster.workloads import Workloads

CLUSTERS = 50
MOST_WRITES = 19
"""For each cluster, from its creation to Running: five Secrets, three Services, four other children, the StatefulSet,
the finalizer, and at most five states: Creating, three steps of the StatefulSet, and Running."""


class Crowd:
    """Many clusters, and the operator that runs them."""

    def __init__(self, cluster: Cluster, client: Client, running: kw.Running, elections: kw.Running) -> None:
        self.cluster = cluster
        self.client = client
        self.running = running
        self._elections = elections

    async def until(self, done: Callable[[Counter[State | None]], bool]) -> None:
        """Lets all controllers work until the states of the clusters are as expected."""
        while not done(Counter(one.status.state for one in await self.client.list(Postgresql))):
            await self.cluster.settled()
            await self._elections.settled(timeout=1800)
            await self.running.settled(timeout=1800)


@asynccontextmanager
async def crowd() -> AsyncIterator[Crowd]:
    """Starts the clusters, and waits until all of them run."""
    simulated = SimulatedEngine({})
    workloads = Workloads(nodes=1, heartbeat=None)
    async with Cluster(workloads=workloads, seed=1) as cluster, cluster.client() as client:
        own = cluster.client_as("operator", "system:masters")
        patroni = simulated.operator().running(cluster.client_as("patroni", "system:masters"))
        async with patroni as elections, operator.running(own, replace=[engine.replaced_by(simulated)]) as running:
            assert cluster.lab.journal == []  # it begins with its first use
            for number in range(CLUSTERS):
                await client.create(minimal(f"acid-{number}", number_of_instances=1))
            made = Crowd(cluster, client, running, elections)
            await made.until(lambda states: states == {State.RUNNING: CLUSTERS})
            yield made


def objects_in_memory() -> int:
    """Returns the number of typed Kubernetes objects that something refers to. Caches keep bytes instead.

    The garbage collector tracks no model, only what refers to one.
    """
    gc.collect()
    found = (each for holder in gc.get_objects() for each in gc.get_referents(holder) if isinstance(each, kw.Object))
    return len({id(each) for each in found})


def test_counts_typed_objects() -> None:
    before = objects_in_memory()
    kept = [minimal(f"acid-{number}", number_of_instances=1) for number in range(10)]
    assert objects_in_memory() - before == len(kept)


@pytest.mark.promise("Postgres example", "Many clusters need a bounded number of writes each, and no reads.")
@pytest.mark.timeout(600)
async def test_many_clusters_need_a_bounded_number_of_calls_and_steady_memory() -> None:
    before = objects_in_memory()
    async with crowd() as made:
        calls = [entry for entry in made.cluster.lab.journal if entry.user == "operator"]
        writes = Counter(entry.resource for entry in calls if entry.wrote and entry.resource != "events")
        writes.pop("customresourcedefinitions.apiextensions.k8s.io", None)
        assert CLUSTERS < writes.total() <= CLUSTERS * MOST_WRITES, writes
        assert "endpoints" not in writes, "they are Patroni's alone"
        reads = [entry for entry in calls if not entry.wrote]
        assert len(reads) < CLUSTERS  # the caches answer; these start them
        settled = objects_in_memory()
        assert settled - before < CLUSTERS, "no typed object is kept for each cluster"
        await made.running.check_idempotent(timeout=600)
        assert objects_in_memory() - settled < CLUSTERS // 2
        controller = made.running.controller(Postgresql)
        await made.client.delete_collection(Postgresql, "default")
        await made.until(lambda states: not states)
        await made.running.settled(timeout=600)
        assert (controller.object_keys(), controller.queue.keys()) == ([], set())
