"""Simulated nodes, bindings and evictions in the embedded cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubewright.api import apps, core, meta
from kubewright.client import Client, Conflict, ConnectionLost, StrategicPatch
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster, ClusterError
from kubewright.cluster.nodes import FakeNode, PodPlan
from kubewright.cluster.workloads import Workloads, usual_plan
from tests.cluster.workloads.conftest import LABELS, World, a_deployment, a_job, template
from tests.transports.disturbed import Disturbed


def a_pod(name: str = "alone", **spec: Any) -> core.Pod:
    made = core.PodSpec(containers=[core.Container(name="main", image="nginx:1")], **spec)
    return core.Pod(metadata=meta.ObjectMeta(name=name, labels=dict(LABELS)), spec=made)


@pytest.fixture
def nodes() -> int:
    return 0


async def bind(world: World, pod: core.Pod, node: str = "somewhere") -> Any:
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.metadata.name, "uid": pod.metadata.uid, "annotations": {"by": "hand"}},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    path = f"/api/v1/namespaces/default/pods/{pod.metadata.name}/binding"
    return json.loads(await world.client.request("POST", path, body=body))


async def evict(world: World, name: str) -> Any:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}}
    path = f"/api/v1/namespaces/default/pods/{name}/eviction"
    return json.loads(await world.client.request("POST", path, body=body))


async def test_binds_a_pod_once(world: World) -> None:
    pod = await world.client.create(a_pod())
    assert (await bind(world, pod))["status"] == "Success"
    bound = await world.get(core.Pod, "alone")
    assert (bound.spec.node_name, bound.metadata.annotations) == ("somewhere", {"by": "hand"})
    assert [each.type for each in bound.status.conditions or () if each.status == "True"] == ["PodScheduled"]
    with pytest.raises(Conflict, match='pods/binding "alone": pod alone is already assigned to node "somewhere"'):
        await bind(world, pod, "elsewhere")


async def test_binding_checks_the_uid(world: World) -> None:
    pod = await world.client.create(a_pod())
    pod.metadata.uid = "another"
    with pytest.raises(Conflict, match="UID in precondition: another"):
        await bind(world, pod)


async def test_rejects_binding_of_gated_pod(world: World) -> None:
    gate = core.PodSchedulingGate(name="example.com/wait")
    pod = await world.client.create(a_pod(scheduling_gates=[gate]))
    with pytest.raises(Conflict, match="schedulingGates"):
        await bind(world, pod)


async def test_eviction_deletes_a_pod(world: World) -> None:
    await world.client.create(a_pod())
    assert (await evict(world, "alone"))["status"] == "Success"
    assert await world.names(core.Pod) == []


def test_default_plan_completes_job_pods() -> None:
    forever = core.Pod(spec=template().spec)
    ending = core.Pod(spec=template(restart_policy="Never").spec)
    assert (usual_plan(forever), usual_plan(ending)) == (PodPlan(), PodPlan(exit_after=1.0))


def test_crash_backoff_doubles_up_to_five_minutes() -> None:
    plan = PodPlan(exit_after=1, exit_code=1, crash_loop=True)
    assert [plan.delay_before(number) for number in (1, 2, 3, 5, 6, 7, 100)] == [10, 20, 40, 160, 300, 300, 300]
    assert PodPlan(restart_delay=7).delay_before(3) == 7


def test_rejects_negative_number_of_nodes() -> None:
    with pytest.raises(ValueError, match="nodes must be a number of at least 0, not -1"):
        Workloads(nodes=-1)


def test_rejects_invalid_plans_and_workloads() -> None:
    with pytest.raises(ValueError, match="nodes must be a number of at least 0, not '3'"):
        Workloads(nodes="3")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="plan must be a PodPlan, or a function that returns one for a pod, not 'slow'"):
        Workloads(plan="slow")  # type: ignore[arg-type]
    wrong: Any
    for name, wrong in (("ready_delay", -3), ("ready_delay", "3"), ("exit_after", -1), ("start_delay", None)):
        with pytest.raises(ValueError, match=f"^{name} must be a number of seconds of at least 0, not {wrong!r}"):
            PodPlan(**{name: wrong})
    for other in (3, "yes", PodPlan()):
        with pytest.raises(TypeError, match=r"workloads must be True, False or Workloads\(\.\.\.\), not "):
            Cluster(workloads=other)  # type: ignore[arg-type]


async def test_reports_pod_of_plan_function_without_result(world: World) -> None:
    pod = await world.client.create(a_pod())
    node = FakeNode(world.client, name="other", plan=lambda _: None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must return a PodPlan; it returned None for default/alone"):
        node.plan_of(pod)


async def test_workloads_continue_from_a_snapshot(tmp_path: Path) -> None:
    snapshot = tmp_path / "snapshot"
    clock = VirtualClock()
    async with Cluster(clock=clock, snapshot=snapshot, workloads=True) as cluster:
        client = cluster.client(namespace="default")
        await client.create(a_deployment(replicas=2))
        await clock.advance(2)
        before = [pod.metadata.uid for pod in await client.list(core.Pod)]
    async with Cluster(clock=clock, snapshot=snapshot, workloads=True) as cluster:
        client = cluster.client(namespace="default")
        await clock.advance(2)
        assert [pod.metadata.uid for pod in await client.list(core.Pod)] == before
        deployment = await client.get(apps.Deployment, "web")
        deployment.spec.replicas = 3
        await client.update(deployment)
        await client.create(a_job())
        await clock.advance(5)
        assert (await client.get(apps.Deployment, "web")).status.available_replicas == 3
        phases = sorted(pod.status.phase or "" for pod in await client.list(core.Pod))
        assert phases == ["Running", "Running", "Running", "Succeeded"]


async def test_raises_error_of_plan_function_at_the_end() -> None:
    def plan(pod: core.Pod) -> PodPlan:
        raise LookupError(f"no plan for {pod.metadata.name}")

    clock = VirtualClock()
    cluster = await Cluster(clock=clock, workloads=Workloads(plan=plan)).start()
    client = cluster.client(namespace="default")
    await client.create(a_pod())
    await clock.advance(1)
    with pytest.raises(LookupError, match="no plan for alone"):
        await cluster.stop()
    with pytest.raises(ClusterError, match="not running"):
        cluster.client()


async def test_node_without_heartbeat_does_not_renew_its_lease() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, seed=1, workloads=Workloads(heartbeat=None)) as cluster:
        revision = cluster.state.storage.revision
        await clock.advance(3600)
        assert cluster.state.storage.events("coordination.k8s.io/leases", revision) == []
    with pytest.raises(ValueError, match="heartbeat"):
        Workloads(heartbeat=0)


async def test_node_reports_ready_again_after_its_lease_expired() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, seed=1, workloads=Workloads(nodes=0)) as cluster:
        server = Disturbed(cluster.transport())
        async with (
            cluster.client() as client,
            Client(transport=server, clock=clock) as nodes_client,
            FakeNode(nodes_client, name="laptop", schedules=False, clock=clock),
        ):

            async def ready() -> list[str]:
                node = await client.get(core.Node, "laptop")
                return [each.status for each in node.status.conditions or () if each.type == "Ready"]

            server.before = ConnectionLost("connection refused", sent=False)
            await clock.advance(60)
            # As kube-controller-manager does.
            unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
            patch = StrategicPatch({"status": {"conditions": [unknown]}})
            await client.patch(core.Node, "laptop", patch, subresource="status")
            assert await ready() == ["Unknown"]
            server.before = None
            await clock.advance(10)
            assert await ready() == ["True"]

            # The controller may have read the expired lease just before it was renewed.
            await client.patch(core.Node, "laptop", patch, subresource="status")
            await clock.advance(10)
            assert await ready() == ["True"]


async def test_runs_only_the_named_controllers() -> None:
    clock = VirtualClock()
    few = Workloads(controllers={"deployments", "replicasets"})
    async with Cluster(clock=clock, seed=1, workloads=few) as cluster:
        client = cluster.client()
        await client.create(a_deployment(replicas=2))
        await client.create(a_job())
        await clock.advance(60)
        assert (await client.get(apps.Deployment, "web", "default")).status.available_replicas == 2
        assert len(await client.list(core.Pod, "default")) == 2
    async with Cluster(clock=clock, seed=1, workloads=Workloads(controllers=())) as cluster:
        await cluster.client().create(a_deployment(replicas=2))
        await clock.advance(60)
        assert len(await cluster.client().list(core.Node)) == 1
        assert await cluster.client().list(core.Pod, "default") == []
    with pytest.raises(
        ValueError, match="unknown controllers deployment; use some of cronjobs, daemonsets, deployments"
    ):
        Workloads(controllers={"deployment"})
