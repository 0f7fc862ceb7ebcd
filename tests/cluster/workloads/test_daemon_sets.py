"""DaemonSets in the embedded cluster, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api import apps, core
from kubewright.client import MergePatch
from kubewright.cluster.nodes import PodPlan
from tests.cluster.workloads.conftest import World, a_daemon_set, a_deployment


@pytest.fixture
def nodes() -> int:
    return 3


def put_image(image: str) -> Any:
    def change(workload: Any) -> None:
        workload.spec.template.spec.containers[0].image = image

    return change


async def placed(world: World) -> list[str]:
    return sorted(pod.spec.node_name or "" for pod in await world.all(core.Pod))


@pytest.mark.promise("The embedded cluster", "A DaemonSet runs one pod on each suitable node.")
async def test_runs_one_pod_on_each_node(world: World) -> None:
    await world.client.create(a_daemon_set())
    await world.passes(3)
    assert await placed(world) == ["node-1", "node-2", "node-3"]
    status = (await world.get(apps.DaemonSet, "agent")).status
    assert status is not None
    assert (status.desired_number_scheduled, status.number_available, status.number_misscheduled) == (3, 3, 0)


@pytest.mark.promise("The embedded cluster", "A DaemonSet runs one pod on each suitable node.")
async def test_runs_pods_on_suitable_nodes_only(world: World) -> None:
    await world.client.patch(core.Node, "node-2", MergePatch({"metadata": {"labels": {"disk": "fast"}}}))
    taint = {"key": "own", "value": "a", "effect": "NoSchedule"}
    await world.client.patch(core.Node, "node-3", MergePatch({"spec": {"taints": [taint]}}))
    daemon_set = a_daemon_set()
    await world.client.create(daemon_set)
    await world.passes(3)
    assert await placed(world) == ["node-1", "node-2"]

    def choose(found: apps.DaemonSet) -> None:
        found.spec.template.spec.node_selector = {"disk": "fast"}

    await world.change(apps.DaemonSet, "agent", choose)
    await world.passes(40)
    assert await placed(world) == ["node-2"]

    def tolerate(found: apps.DaemonSet) -> None:
        found.spec.template.spec.node_selector = None
        found.spec.template.spec.tolerations = [core.Toleration(operator="Exists")]

    await world.change(apps.DaemonSet, "agent", tolerate)
    await world.passes(40)
    assert await placed(world) == ["node-1", "node-2", "node-3"]


async def test_no_execute_taint_evicts_the_pod(world: World) -> None:
    await world.client.create(a_daemon_set())
    await world.passes(3)
    taint = {"key": "broken", "effect": "NoExecute"}
    await world.client.patch(core.Node, "node-1", MergePatch({"spec": {"taints": [taint]}}))
    await world.passes(40)
    assert await placed(world) == ["node-2", "node-3"]


async def test_update_replaces_one_pod_at_a_time(world: World) -> None:
    await world.client.create(a_daemon_set())
    await world.passes(3)
    world.plans.default = PodPlan(ready_delay=10)
    await world.change(apps.DaemonSet, "agent", put_image("nginx:2"))
    for done in (1, 2, 3):
        await world.passes(3)
        images = [pod.spec.containers[0].image for pod in await world.all(core.Pod)]
        assert (images.count("nginx:2"), len(images)) == (done, 3)
        await world.passes(8)
    status = (await world.get(apps.DaemonSet, "agent")).status
    assert status is not None
    assert (status.updated_number_scheduled, status.number_available) == (3, 3)


async def test_surge_starts_the_new_pod_first(world: World) -> None:
    rolling = apps.RollingUpdateDaemonSet(max_surge=1, max_unavailable=0)
    strategy = apps.DaemonSetUpdateStrategy(type="RollingUpdate", rolling_update=rolling)
    await world.client.create(a_daemon_set(update_strategy=strategy))
    await world.passes(3)
    world.plans.default = PodPlan(ready_delay=10)
    await world.change(apps.DaemonSet, "agent", put_image("nginx:2"))
    await world.passes(3)
    assert len(await world.all(core.Pod)) == 4
    await world.passes(60)
    assert [pod.spec.containers[0].image for pod in await world.all(core.Pod)] == ["nginx:2"] * 3


async def test_on_delete_strategy_replaces_nothing(world: World) -> None:
    await world.client.create(a_daemon_set(update_strategy=apps.DaemonSetUpdateStrategy(type="OnDelete")))
    await world.passes(3)
    await world.change(apps.DaemonSet, "agent", put_image("nginx:2"))
    await world.passes(20)
    names = await world.names(core.Pod)
    assert {pod.spec.containers[0].image for pod in await world.all(core.Pod)} == {"nginx:1"}
    await world.client.delete(core.Pod, names[0])
    await world.passes(20)
    assert sorted(pod.spec.containers[0].image or "" for pod in await world.all(core.Pod)) == [
        "nginx:1",
        "nginx:1",
        "nginx:2",
    ]


async def test_replaces_failed_pod(world: World) -> None:
    await world.client.create(a_daemon_set())
    await world.passes(3)
    pod = (await world.all(core.Pod))[0]
    pod.status.phase = "Failed"
    await world.client.update_status(pod)
    await world.passes(40)
    assert [each.status.phase for each in await world.all(core.Pod)] == ["Running"] * 3
    assert len(await world.events("FailedDaemonPod")) == 1


async def test_distributes_other_pods_over_nodes(world: World) -> None:
    await world.client.create(a_deployment(replicas=30))
    await world.passes(3)
    where = await placed(world)
    assert len(where) == 30
    assert set(where) == {"node-1", "node-2", "node-3"}
