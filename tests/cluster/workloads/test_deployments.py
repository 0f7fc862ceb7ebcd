"""Deployments and ReplicaSets in the embedded cluster, in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubewright.api import apps, controller_of, core, meta
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.nodes import PodPlan
from tests.cluster.workloads.conftest import LABELS, World, a_deployment, conditions, template

REVISION = "deployment.kubernetes.io/revision"


def put_image(image: str) -> Any:
    def change(workload: Any) -> None:
        workload.spec.template.spec.containers[0].image = image

    return change


def put_replicas(number: int) -> Any:
    def change(workload: Any) -> None:
        workload.spec.replicas = number

    return change


async def sizes(world: World) -> list[int]:
    """Returns the sizes of the ReplicaSets, the oldest first."""
    found = await world.all(apps.ReplicaSet)
    return [
        each.spec.replicas or 0 for each in sorted(found, key=lambda each: int(each.metadata.annotations[REVISION]))
    ]


async def test_creates_replica_set_and_pods(world: World) -> None:
    made = await world.client.create(a_deployment(replicas=2))
    await world.passes(2)
    (replica_set,) = await world.all(apps.ReplicaSet)
    label = replica_set.metadata.labels["pod-template-hash"]
    assert replica_set.metadata.name == f"web-{label}"
    assert (replica_set.spec.selector.match_labels or {})["pod-template-hash"] == label
    owner = controller_of(replica_set)
    assert owner is not None
    assert owner.uid == made.metadata.uid
    pods = await world.all(core.Pod)
    assert len(pods) == 2
    for pod in pods:
        assert pod.metadata.labels == {**LABELS, "pod-template-hash": label}
        assert pod.metadata.name.startswith(f"web-{label}-")
        assert (pod.status.phase, pod.spec.node_name) == ("Running", "node-1")


async def test_status_reports_availability_and_progress(world: World) -> None:
    await world.client.create(a_deployment(replicas=2))
    await world.passes(0)
    waiting = await world.get(apps.Deployment, "web")
    assert conditions(waiting) == {
        "Available": ("False", "MinimumReplicasUnavailable"),
        "Progressing": ("True", "ReplicaSetUpdated"),
    }
    assert waiting.status.unavailable_replicas == 2
    await world.passes(2)
    done = await world.get(apps.Deployment, "web")
    assert conditions(done) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }
    assert (done.status.replicas, done.status.available_replicas, done.status.unavailable_replicas) == (2, 2, None)
    assert done.status.observed_generation == done.metadata.generation == 1


@pytest.mark.promise(
    "The embedded cluster",
    "A rolling update respects maxSurge and maxUnavailable; a stuck one is reported after its deadline.",
)
async def test_rolling_update_respects_surge_and_unavailable(world: World) -> None:
    rolling = apps.RollingUpdateDeployment(max_surge=1, max_unavailable=1)
    strategy = apps.DeploymentStrategy(type="RollingUpdate", rolling_update=rolling)
    await world.client.create(a_deployment(replicas=4, strategy=strategy))
    await world.passes(3)
    await world.change(apps.Deployment, "web", put_image("nginx:2"))
    steps = 0
    while [pod.spec.containers[0].image for pod in await world.all(core.Pod)] != ["nginx:2"] * 4:
        pods = await world.all(core.Pod)
        ready = [pod for pod in pods if pod.status.phase == "Running" and conditions(pod)["Ready"][0] == "True"]
        assert len(ready) >= 3
        assert len([pod for pod in pods if pod.metadata.deletion_timestamp is None]) <= 5
        steps += 1
        assert steps < 60
        await world.passes(0.5)
    await world.passes(2)
    assert await sizes(world) == [0, 4]
    done = await world.get(apps.Deployment, "web")
    assert done.metadata.annotations[REVISION] == "2"


@pytest.mark.promise(
    "The embedded cluster",
    "A rolling update respects maxSurge and maxUnavailable; a stuck one is reported after its deadline.",
)
async def test_reports_stuck_rollout_after_the_deadline(world: World) -> None:
    world.plans.by_image["broken"] = PodPlan(image_missing=True)
    await world.client.create(a_deployment(replicas=4, progress_deadline_seconds=60))
    await world.passes(3)
    await world.change(apps.Deployment, "web", put_image("broken"))
    await world.passes(30)
    assert await sizes(world) == [3, 2]  # a quarter may be unavailable, a quarter may be surplus
    assert conditions(await world.get(apps.Deployment, "web"))["Progressing"][0] == "True"
    await world.passes(40)
    stuck = await world.get(apps.Deployment, "web")
    assert conditions(stuck)["Progressing"] == ("False", "ProgressDeadlineExceeded")
    assert conditions(stuck)["Available"][0] == "True"


async def test_rollback_reuses_the_old_replica_set(world: World) -> None:
    await world.client.create(a_deployment(replicas=1))
    await world.passes(3)
    (first,) = await world.names(apps.ReplicaSet)
    await world.change(apps.Deployment, "web", put_image("nginx:2"))
    await world.passes(5)
    await world.change(apps.Deployment, "web", put_image("nginx:1"))
    await world.passes(5)
    again = await world.get(apps.ReplicaSet, first)
    assert again.spec.replicas == 1
    assert again.metadata.annotations[REVISION] == "3"
    assert again.metadata.annotations["deployment.kubernetes.io/revision-history"] == "1"
    assert len(await world.names(apps.ReplicaSet)) == 2


async def test_recreate_waits_for_old_pods(world: World) -> None:
    world.plans.default = PodPlan(ready_delay=1, stop_delay=10)
    await world.client.create(a_deployment(replicas=2, strategy=apps.DeploymentStrategy(type="Recreate")))
    await world.passes(3)
    await world.change(apps.Deployment, "web", put_image("nginx:2"))
    await world.passes(5)
    images = {pod.spec.containers[0].image for pod in await world.all(core.Pod)}
    assert images == {"nginx:1"}
    await world.passes(10)
    images = {pod.spec.containers[0].image for pod in await world.all(core.Pod)}
    assert images == {"nginx:2"}
    assert conditions(await world.get(apps.Deployment, "web"))["Progressing"] == ("True", "NewReplicaSetAvailable")


async def test_paused_deployment_scales_but_does_not_roll_out(world: World) -> None:
    await world.client.create(a_deployment(replicas=1))
    await world.passes(3)

    def pause(deployment: apps.Deployment) -> None:
        deployment.spec.paused, deployment.spec.replicas = True, 3
        deployment.spec.template.spec.containers[0].image = "nginx:2"

    await world.change(apps.Deployment, "web", pause)
    await world.passes(5)
    assert {pod.spec.containers[0].image for pod in await world.all(core.Pod)} == {"nginx:1"}
    assert await sizes(world) == [3]
    assert conditions(await world.get(apps.Deployment, "web"))["Progressing"] == ("Unknown", "DeploymentPaused")

    def resume(deployment: apps.Deployment) -> None:
        deployment.spec.paused = False

    await world.change(apps.Deployment, "web", resume)
    await world.passes(20)
    assert await sizes(world) == [0, 3]


async def test_scales_proportionally_during_a_stuck_rollout(world: World) -> None:
    world.plans.by_image["broken"] = PodPlan(becomes_ready=False)
    rolling = apps.RollingUpdateDeployment(max_surge=3, max_unavailable=2)
    strategy = apps.DeploymentStrategy(type="RollingUpdate", rolling_update=rolling)
    await world.client.create(a_deployment(replicas=10, strategy=strategy))
    await world.passes(3)
    await world.change(apps.Deployment, "web", put_image("broken"))
    await world.passes(5)
    assert await sizes(world) == [8, 5]
    await world.change(apps.Deployment, "web", put_replicas(15))
    await world.passes(5)
    assert await sizes(world) == [11, 7]  # the numbers in the Kubernetes documentation


async def test_keeps_limited_revision_history(world: World) -> None:
    await world.client.create(a_deployment(replicas=1, revision_history_limit=1))
    for number in range(2, 5):
        await world.passes(5)
        await world.change(apps.Deployment, "web", put_image(f"nginx:{number}"))
    await world.passes(5)
    revisions = sorted(each.metadata.annotations[REVISION] for each in await world.all(apps.ReplicaSet))
    assert revisions == ["3", "4"]


async def test_pods_are_available_after_min_ready_seconds(world: World) -> None:
    await world.client.create(a_deployment(replicas=1, min_ready_seconds=30))
    await world.passes(20)
    status = (await world.get(apps.Deployment, "web")).status
    assert (status.ready_replicas, status.available_replicas) == (1, None)
    await world.passes(12)
    assert (await world.get(apps.Deployment, "web")).status.available_replicas == 1


async def test_replaces_deleted_or_failed_pod(world: World) -> None:
    await world.client.create(a_deployment(replicas=2))
    await world.passes(3)
    gone, failed = await world.names(core.Pod)
    await world.client.delete(core.Pod, gone)
    pod = await world.get(core.Pod, failed)
    pod.status.phase = "Failed"
    await world.client.update_status(pod)
    await world.passes(3)
    running = [each for each in await world.all(core.Pod) if each.status.phase == "Running"]
    assert len(running) == 2
    assert not {gone, failed} & {each.metadata.name for each in running}


async def test_replica_set_avoids_taken_name(world: World) -> None:
    await world.client.create(a_deployment())
    await world.passes(3)
    (taken,) = await world.names(apps.ReplicaSet)
    await world.client.delete(apps.Deployment, "web")
    await world.passes(40)
    spec = apps.ReplicaSetSpec(replicas=0, selector=meta.LabelSelector(match_labels={"a": "b"}), template=template())
    assert spec.template is not None
    spec.template.metadata.labels = {"a": "b"}
    await world.client.create(apps.ReplicaSet(metadata=meta.ObjectMeta(name=taken), spec=spec))
    await world.client.create(a_deployment())
    await world.passes(3)
    done = await world.get(apps.Deployment, "web")
    assert (done.status.collision_count, done.status.available_replicas) == (1, 1)
    assert len(await world.names(apps.ReplicaSet)) == 2


async def test_fails_and_restarts_pods_manually(world: World) -> None:
    await world.client.create(a_deployment(replicas=2))
    await world.passes(3)
    (node,), (failing, restarting) = world.cluster.nodes, await world.names(core.Pod)
    await node.fail(failing, "default", reason="Evicted")
    restart = asyncio.create_task(node.restart(restarting, "default"))
    await world.passes(3)
    await restart
    assert (await world.get(core.Pod, failing)).status.reason == "Evicted"
    (container,) = (await world.get(core.Pod, restarting)).status.container_statuses or []
    assert (container.restart_count, container.ready) == (1, True)
    assert (await world.get(apps.Deployment, "web")).status.available_replicas == 2


async def test_deletes_pods_with_the_deployment(world: World) -> None:
    await world.client.create(a_deployment(replicas=2))
    await world.passes(3)
    await world.client.delete(apps.Deployment, "web")
    await world.passes(31)
    assert await world.names(apps.ReplicaSet) == await world.names(core.Pod) == []


async def test_adopts_orphans_and_releases_non_matching_pods(world: World) -> None:
    pod = core.Pod(metadata=meta.ObjectMeta(name="stray", labels=dict(LABELS)), spec=template().spec)
    await world.client.create(pod)
    selector = meta.LabelSelector(match_labels=dict(LABELS))
    spec = apps.ReplicaSetSpec(replicas=1, selector=selector, template=template())
    await world.client.create(apps.ReplicaSet(metadata=meta.ObjectMeta(name="web"), spec=spec))
    await world.passes(3)
    assert await world.names(core.Pod) == ["stray"]
    owner = controller_of(await world.get(core.Pod, "stray"))
    assert owner is not None
    assert owner.name == "web"

    def relabel(stray: core.Pod) -> None:
        stray.metadata.labels["app"] = "other"

    await world.change(core.Pod, "stray", relabel)
    await world.passes(3)
    assert controller_of(await world.get(core.Pod, "stray")) is None
    assert len(await world.names(core.Pod)) == 2


async def test_deletes_unready_surplus_pods_first(world: World) -> None:
    await world.client.create(a_deployment(replicas=3))
    await world.passes(3)
    names = await world.names(core.Pod)
    pod = await world.get(core.Pod, names[1])
    for condition in pod.status.conditions or []:
        if condition.type == "Ready":
            condition.status = "False"
    await world.client.update_status(pod)
    await world.change(apps.Deployment, "web", put_replicas(2))
    await world.passes(3)
    assert await world.names(core.Pod) == [names[0], names[2]]


async def test_records_scaling_events(world: World) -> None:
    await world.client.create(a_deployment(replicas=1))
    await world.passes(3)
    (replica_set,), (pod,) = await world.names(apps.ReplicaSet), await world.names(core.Pod)
    assert await world.events("ScalingReplicaSet") == [f"Scaled up replica set {replica_set} from 0 to 1"]
    assert await world.events("SuccessfulCreate") == [f"Created pod: {pod}"]


@pytest.mark.promise("The embedded cluster", "An hour of crashes takes a moment of virtual time.")
async def test_simulates_an_hour_of_crash_loops_quickly(world: World) -> None:
    world.plans.by_image["crash"] = PodPlan(exit_after=1, exit_code=1, crash_loop=True)
    await world.client.create(a_deployment(replicas=1, image="crash"))
    await world.passes(3600)
    (pod,) = await world.all(core.Pod)
    (container,) = pod.status.container_statuses or []
    # Waits of 10, 20, 40, 80 and 160 s, then 300 s each; each run takes a second.
    assert container.restart_count == 5 + (3600 - 310 - 5) // 301 + 1
    assert container.state is not None
    assert container.state.waiting is not None
    assert container.state.waiting.reason == "CrashLoopBackOff"
    assert conditions(await world.get(apps.Deployment, "web"))["Available"][0] == "False"


async def test_without_workloads_deployments_stay_untouched() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock) as cluster, cluster.client(namespace="default") as client:
        await client.create(a_deployment())
        await clock.advance(10)
        assert list(await client.list(apps.ReplicaSet)) == []
