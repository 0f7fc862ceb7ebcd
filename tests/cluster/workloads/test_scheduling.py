"""Scheduling in the embedded cluster: the node of a pod, and the reasons why it gets none or loses it.

The messages are those of kube-scheduler 1.36.3 for the same pods and nodes.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api import apps, core, meta
from kubewright.cluster.workloads import toleration_seconds
from tests.cluster.workloads.conftest import LABELS, World, a_deployment

PREEMPTION = (
    "no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
)


@pytest.fixture
def nodes() -> int:
    return 3


def a_pod(name: str = "alone", **spec: Any) -> core.Pod:
    made = core.PodSpec(containers=[core.Container(name="main", image="nginx:1")], **spec)
    return core.Pod(metadata=meta.ObjectMeta(name=name, labels=dict(LABELS)), spec=made)


def named(*terms: list[str]) -> core.Affinity:
    """Returns the affinity to nodes by name, one term for each list of names."""
    required = core.NodeSelector(
        node_selector_terms=[
            core.NodeSelectorTerm(
                match_fields=[core.NodeSelectorRequirement(key="metadata.name", operator="In", values=names)]
            )
            for names in terms
        ]
    )
    return core.Affinity(node_affinity=core.NodeAffinity(required_during_scheduling_ignored_during_execution=required))


async def cordon(world: World, node: str, *, off: bool = False) -> None:
    def set_it(node: core.Node) -> None:
        node.spec.unschedulable = None if off else True

    await world.change(core.Node, node, set_it)


async def set_taint(world: World, node: str, effect: str, **fields: Any) -> None:
    def add(node: core.Node) -> None:
        node.spec.taints = [*(node.spec.taints or ()), core.Taint(key="special", effect=effect, **fields)]

    await world.change(core.Node, node, add)


async def node_of(world: World, pod: str) -> str | None:
    return (await world.get(core.Pod, pod)).spec.node_name


async def message(world: World, pod: str) -> str | None:
    found = await world.get(core.Pod, pod)
    conditions = [each for each in found.status.conditions or () if each.type == "PodScheduled"]
    assert [(each.status, each.reason, each.observed_generation) for each in conditions] == [
        ("False", "Unschedulable", found.metadata.generation)
    ]
    assert await world.events("FailedScheduling") == [conditions[0].message]
    return conditions[0].message


async def test_cordoned_node_gets_no_pods(world: World) -> None:
    for node in ("node-1", "node-2", "node-3"):
        await cordon(world, node)
    await world.client.create(a_pod())
    await world.passes(1)
    assert await message(world, "alone") == f"0/3 nodes are available: 3 node(s) were unschedulable. {PREEMPTION}"
    await cordon(world, "node-2", off=True)
    await world.passes(2)
    assert await node_of(world, "alone") == "node-2"
    assert (await world.get(core.Pod, "alone")).status.phase == "Running"
    assert await world.events("Scheduled") == ["Successfully assigned default/alone to node-2"]


async def test_taint_repels_pods_without_toleration(world: World) -> None:
    for node in ("node-1", "node-3"):
        await set_taint(world, node, "NoSchedule", value="yes")
    await set_taint(world, "node-2", "PreferNoSchedule")
    tolerations = [core.Toleration(key="special", operator="Equal", value="yes", effect="NoSchedule")]
    selector = {"kubernetes.io/hostname": "node-3"}
    for number in range(5):
        await world.client.create(a_pod(f"ordinary-{number}"))
    await world.client.create(a_pod("tolerant", tolerations=tolerations, node_selector=selector))
    await world.passes(1)
    assert {await node_of(world, f"ordinary-{number}") for number in range(5)} == {"node-2"}
    assert await node_of(world, "tolerant") == "node-3"


async def test_node_selector_waits_for_a_label(world: World) -> None:
    await world.client.create(a_pod(node_selector={"disk": "fast"}))
    await world.passes(1)
    why = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
    assert await message(world, "alone") == f"{why} {PREEMPTION}"
    await world.change(core.Node, "node-3", lambda node: node.metadata.labels.update(disk="fast"))
    await world.passes(1)
    assert await node_of(world, "alone") == "node-3"


async def test_pod_waits_for_the_first_node(world: World) -> None:
    for node in ("node-1", "node-2", "node-3"):
        await world.client.delete(core.Node, node)
    await world.client.create(a_pod())
    await world.passes(1)
    assert await message(world, "alone") == "no nodes available to schedule pods"
    await world.client.create(core.Node(metadata=meta.ObjectMeta(name="node-2")))
    await world.passes(1)
    assert await node_of(world, "alone") == "node-2"


async def test_reports_a_reason_for_each_node(world: World) -> None:
    await cordon(world, "node-1")
    await set_taint(world, "node-2", "NoSchedule")
    await world.client.create(a_pod(node_selector={"no": "where"}))
    await world.passes(1)
    reasons = (
        "1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable"
    )
    assert await message(world, "alone") == f"0/3 nodes are available: {reasons}. {PREEMPTION}"


@pytest.mark.parametrize(
    ("names", "reasons"),
    [
        (["node-2"], "1 node(s) had untolerated taint(s), 2 node(s) didn't satisfy plugin(s) [NodeAffinity]"),
        (["elsewhere"], "3 node(s) didn't satisfy plugin(s) [NodeAffinity]"),
    ],
)
async def test_pod_waits_for_the_named_node(world: World, names: list[str], reasons: str) -> None:
    await cordon(world, "node-1")
    await set_taint(world, "node-2", "NoSchedule")
    await world.client.create(a_pod(affinity=named(names)))
    await world.passes(1)
    assert await message(world, "alone") == f"0/3 nodes are available: {reasons}. {PREEMPTION}"


async def test_schedules_on_any_named_node(world: World) -> None:
    await cordon(world, "node-1")
    await world.client.create(a_pod(affinity=named(["node-1"], ["node-3"])))
    await world.passes(1)
    assert await node_of(world, "alone") == "node-3"


async def test_reschedules_after_toleration_is_added(world: World) -> None:
    for node in ("node-1", "node-2", "node-3"):
        await set_taint(world, node, "NoSchedule")
    await world.client.create(a_pod())
    await world.passes(1)

    def tolerate(pod: core.Pod) -> None:
        pod.spec.tolerations = [*(pod.spec.tolerations or ()), core.Toleration(operator="Exists")]

    await world.change(core.Pod, "alone", tolerate)
    await world.passes(1)
    assert await node_of(world, "alone") is not None


async def test_drained_pods_move_to_other_nodes(world: World) -> None:
    await world.client.create(a_deployment(replicas=15))
    await world.passes(2)
    assert {pod.spec.node_name for pod in await world.all(core.Pod)} == {"node-1", "node-2", "node-3"}
    await cordon(world, "node-1")
    for pod in await world.all(core.Pod):
        if pod.spec.node_name == "node-1":
            await world.client.evict(pod.metadata.name)
    await world.passes(60)
    assert {pod.spec.node_name for pod in await world.all(core.Pod)} == {"node-2", "node-3"}
    assert (await world.get(apps.Deployment, "web")).status.available_replicas == 15


async def test_cordon_taints_the_node(world: World) -> None:
    await set_taint(world, "node-1", "NoSchedule")
    await cordon(world, "node-1")
    await world.passes(1)
    taints = (await world.get(core.Node, "node-1")).spec.taints or []
    assert [(each.key, each.effect) for each in taints] == [
        ("special", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ]
    assert taints[1].time_added is not None
    await cordon(world, "node-1", off=True)
    await world.passes(1)
    assert [each.key for each in (await world.get(core.Node, "node-1")).spec.taints or ()] == ["special"]


async def test_taints_unhealthy_node(world: World) -> None:
    def suffer(node: core.Node) -> None:
        conditions = {each.type: each for each in node.status.conditions or ()}
        conditions["Ready"].status = "False"
        pressure = core.NodeCondition(type="DiskPressure", status="True")
        node.status.conditions = [*conditions.values(), pressure]

    node = await world.get(core.Node, "node-1")
    suffer(node)
    await world.client.update_status(node)
    await world.passes(1)
    taints = {each.key for each in (await world.get(core.Node, "node-1")).spec.taints or ()}
    assert taints == {"node.kubernetes.io/not-ready", "node.kubernetes.io/disk-pressure"}


async def test_evicts_pods_after_their_toleration_seconds(world: World) -> None:
    at_home = {"kubernetes.io/hostname": "node-1"}
    soon = core.Toleration(key="special", operator="Exists", effect="NoExecute", toleration_seconds=30)
    always = core.Toleration(key="special", operator="Exists")
    await world.client.create(a_pod("at-once", node_selector=at_home))
    await world.client.create(a_pod("soon", node_selector=at_home, tolerations=[soon]))
    await world.client.create(a_pod("never", node_selector=at_home, tolerations=[always]))
    await world.client.create(a_pod("elsewhere", node_selector={"kubernetes.io/hostname": "node-2"}))
    await world.passes(2)
    await set_taint(world, "node-1", "NoExecute")
    await world.passes(10)
    assert await world.names(core.Pod) == ["elsewhere", "never", "soon"]
    await world.passes(30)
    assert await world.names(core.Pod) == ["elsewhere", "never"]
    messages = [f"Marking for deletion Pod default/{name}" for name in ("at-once", "soon")]
    assert await world.events("TaintManagerEviction") == messages


async def test_removed_taint_cancels_eviction(world: World) -> None:
    soon = core.Toleration(key="special", operator="Exists", effect="NoExecute", toleration_seconds=30)
    await world.client.create(a_pod(node_selector={"kubernetes.io/hostname": "node-1"}, tolerations=[soon]))
    await world.passes(2)

    def no_taints(node: core.Node) -> None:
        node.spec.taints = None

    for _ in range(2):  # the second time starts from scratch
        await set_taint(world, "node-1", "NoExecute")
        await world.passes(20)
        await world.change(core.Node, "node-1", no_taints)
        await world.passes(1)
    await world.passes(100)
    assert await world.names(core.Pod) == ["alone"]


def test_toleration_seconds_of_taints() -> None:
    taints = [core.Taint(key="a", effect="NoExecute"), core.Taint(key="b", effect="NoExecute")]

    def tolerating(**seconds: int | None) -> float:
        made = [core.Toleration(key=key, operator="Exists", toleration_seconds=s) for key, s in seconds.items()]
        return toleration_seconds(taints, made)

    assert toleration_seconds([], []) == float("inf")
    assert tolerating(a=None) == 0, "a taint that is not tolerated at all"
    assert tolerating(a=None, b=None) == float("inf")
    assert tolerating(a=20, b=10) == 10
    assert tolerating(a=-5, b=10) == 0
