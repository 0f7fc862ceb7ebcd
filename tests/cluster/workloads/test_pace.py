"""Controllers do not process all pods of a large object on every change."""

from __future__ import annotations

import itertools

import pytest

from kubewright.api import apps
from kubewright.cluster.nodes import PodPlan
from tests.cluster.workloads.conftest import World, a_deployment

PODS = 60


@pytest.mark.promise("The embedded cluster", "A large workload is counted at intervals, not on every change of a pod.")
async def test_limits_reconciliations_of_large_replica_set(world: World) -> None:
    delays = (number / 100 for number in itertools.count())
    plans: dict[str, PodPlan] = {}
    for node in world.cluster.nodes:
        node.plan = lambda pod: plans.setdefault(pod.metadata.uid, PodPlan(ready_delay=next(delays)))
    await world.client.create(a_deployment(replicas=PODS))
    revision = world.cluster.state.storage.revision
    await world.passes(5)
    assert (await world.get(apps.Deployment, "web")).status.available_replicas == PODS
    assert len(world.cluster.state.storage.events("apps/replicasets", revision)) < PODS / 2
