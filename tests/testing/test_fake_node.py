from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest

from kubewright.api import apps, batch, core, meta
from kubewright.client import Client, MergePatch, StrategicPatch
from kubewright.clock import VirtualClock
from kubewright.testing import ControlPlane, FakeNode, PodPlan


@pytest.fixture(scope="module")
def control_plane() -> Iterator[ControlPlane]:
    """A plane of this module's own: its controllers would meddle with the objects of other tests."""
    with ControlPlane() as plane:
        plane.ensure_controllers()
        yield plane


def a_pod(namespace: str, name: str = "web", **spec: object) -> core.Pod:
    containers = [core.Container(name="main", image="nginx")]
    return core.Pod(
        metadata=meta.ObjectMeta(name=name, namespace=namespace),
        spec=core.PodSpec(containers=containers, **spec),  # type: ignore[arg-type]
    )


async def until(client: Client, pod: core.Pod, condition: Callable[[core.Pod], object]) -> core.Pod:
    """The first state of the pod, from now on, that fulfils the condition."""
    name, namespace = pod.metadata.name, pod.metadata.namespace
    watch = client.watch(core.Pod, namespace, fields=f"metadata.name={name}", resource_version="0")
    async for event in watch:
        if event.type != "DELETED" and condition(event.object):
            return event.object
    raise AssertionError("a watch without a timeout does not end")


async def until_gone(client: Client, pod: core.Pod) -> core.Pod:
    """The last state of the pod."""
    since = pod.metadata.resource_version or ""
    async for event in client.watch(core.Pod, pod.metadata.namespace, resource_version=since):
        if event.type == "DELETED" and event.object.metadata.uid == pod.metadata.uid:
            return event.object
    raise AssertionError("a watch without a timeout does not end")


def condition(pod: core.Pod, kind: str) -> str | None:
    return next((each.status for each in pod.status.conditions or [] if each.type == kind), None)


def is_ready(pod: core.Pod) -> bool:
    return condition(pod, "Ready") == "True"


def restarts(pod: core.Pod) -> int:
    return (pod.status.container_statuses or [])[0].restart_count if pod.status.container_statuses else 0


class ObservedClock(VirtualClock):
    """A virtual clock that reports sleeps: a real server may take any time until a node sees a change."""

    def __init__(self) -> None:
        super().__init__()
        self._asleep: defaultdict[float, asyncio.Event] = defaultdict(asyncio.Event)

    async def sleep(self, seconds: float, *, deferrable: bool = False) -> None:
        self._asleep[seconds].set()
        await super().sleep(seconds, deferrable=deferrable)

    async def until_asleep(self, seconds: float) -> None:
        """Waits until a sleep of that length begins."""
        await self._asleep[seconds].wait()


async def test_a_pod_is_scheduled_and_becomes_running_and_ready(
    client: Client, namespace: str, fake_node: FakeNode
) -> None:
    pod = await client.create(a_pod(namespace))

    ready = await until(client, pod, is_ready)

    assert ready.spec.node_name == fake_node.name
    assert ready.status.phase == "Running"
    assert condition(ready, "PodScheduled") == "True"
    assert ready.status.pod_ip
    (status,) = ready.status.container_statuses or []
    assert status.ready
    assert status.state is not None
    assert status.state.running is not None


@pytest.mark.promise(
    "The control plane for tests",
    "A Deployment reaches its replicas without a kubelet; delays, failures and restarts can be set.",
)
async def test_a_deployment_reaches_its_available_replicas(client: Client, namespace: str, fake_node: FakeNode) -> None:
    labels = {"app": "web"}
    template = core.PodTemplateSpec(
        metadata=meta.ObjectMeta(labels=labels),
        spec=core.PodSpec(containers=[core.Container(name="main", image="nginx")]),
    )
    spec = apps.DeploymentSpec(replicas=3, selector=meta.LabelSelector(match_labels=labels), template=template)
    await client.create(apps.Deployment(metadata=meta.ObjectMeta(name="web", namespace=namespace), spec=spec))

    async for event in client.watch(apps.Deployment, namespace, resource_version="0"):
        if event.object.status.available_replicas == 3:
            break

    await client.patch(apps.Deployment, "web", MergePatch({"spec": {"replicas": 1}}), namespace)
    async for event in client.watch(apps.Deployment, namespace, resource_version="0"):
        if event.object.status.replicas == event.object.status.available_replicas == 1:
            break


async def test_a_job_completes_when_its_pod_exits_with_zero(client: Client, namespace: str) -> None:
    template = core.PodTemplateSpec(
        spec=core.PodSpec(restart_policy="Never", containers=[core.Container(name="main", image="busybox")])
    )
    job = batch.Job(metadata=meta.ObjectMeta(name="once", namespace=namespace), spec=batch.JobSpec(template=template))
    async with FakeNode(client, name=f"n-{namespace}", namespace=namespace, plan=PodPlan(exit_after=0)):
        await client.create(job)
        async for event in client.watch(batch.Job, namespace, resource_version="0"):
            if event.object.status.succeeded == 1:
                break


async def test_a_daemon_set_runs_on_the_node(client: Client, namespace: str, fake_node: FakeNode) -> None:
    labels = {"app": "agent"}
    template = core.PodTemplateSpec(
        metadata=meta.ObjectMeta(labels=labels),
        spec=core.PodSpec(containers=[core.Container(name="main", image="agent")]),
    )
    spec = apps.DaemonSetSpec(selector=meta.LabelSelector(match_labels=labels), template=template)
    await client.create(apps.DaemonSet(metadata=meta.ObjectMeta(name="agent", namespace=namespace), spec=spec))

    async for event in client.watch(apps.DaemonSet, namespace, resource_version="0"):
        if event.object.status is not None and event.object.status.number_ready >= 1:
            break
    pods = await client.list(core.Pod, namespace)
    assert fake_node.name in [pod.spec.node_name for pod in pods]


async def test_a_pod_that_names_another_node_is_left_alone(client: Client, namespace: str, fake_node: FakeNode) -> None:
    elsewhere = core.NodeSelectorRequirement(key="metadata.name", operator="In", values=["another-node"])
    required = core.NodeSelector(node_selector_terms=[core.NodeSelectorTerm(match_fields=[elsewhere])])
    affinity = core.Affinity(
        node_affinity=core.NodeAffinity(required_during_scheduling_ignored_during_execution=required)
    )
    await client.create(a_pod(namespace, "theirs", affinity=affinity))
    await until(client, await client.create(a_pod(namespace, "ours")), is_ready)

    assert (await client.get(core.Pod, "theirs", namespace)).spec.node_name is None


async def test_a_pod_of_restart_policy_never_fails_when_it_exits_with_an_error(
    client: Client, namespace: str, fake_node: FakeNode
) -> None:
    fake_node.plan = PodPlan(exit_after=0, exit_code=3)
    pod = await client.create(a_pod(namespace, restart_policy="Never"))

    failed = await until(client, pod, lambda pod: pod.status.phase == "Failed")

    (status,) = failed.status.container_statuses or []
    assert status.state is not None
    assert status.state.terminated is not None
    assert status.state.terminated.exit_code == 3
    assert not is_ready(failed)


@pytest.mark.promise(
    "The control plane for tests",
    "A Deployment reaches its replicas without a kubelet; delays, failures and restarts can be set.",
)
async def test_a_pod_that_crashes_three_times_runs_after_three_restarts(
    client: Client, namespace: str, fake_node: FakeNode
) -> None:
    fake_node.plan = PodPlan(exit_after=0, exit_code=1, exits=3)
    pod = await client.create(a_pod(namespace))

    settled = await until(client, pod, lambda pod: restarts(pod) == 3 and is_ready(pod))

    (status,) = settled.status.container_statuses or []
    assert settled.status.phase == "Running"
    assert status.ready


@pytest.mark.promise(
    "The control plane for tests",
    "A Deployment reaches its replicas without a kubelet; delays, failures and restarts can be set.",
)
async def test_delays_pass_on_the_injected_clock(client: Client, namespace: str) -> None:
    clock = ObservedClock()
    plan = PodPlan(start_delay=60, ready_delay=600)
    async with FakeNode(client, name=f"n-{namespace}", namespace=namespace, plan=plan, clock=clock):
        pod = await client.create(a_pod(namespace))
        bound = await until(client, pod, lambda pod: pod.spec.node_name)
        assert bound.status.phase == "Pending"

        await clock.until_asleep(60)
        await clock.advance(60)
        running = await until(client, pod, lambda pod: pod.status.phase == "Running")
        await clock.until_asleep(600)
        await clock.advance(600)
        ready = await until(client, pod, is_ready)

    assert running.status.start_time is not None
    since = next(each for each in ready.status.conditions or [] if each.type == "Ready").last_transition_time
    assert since is not None
    assert (since - running.status.start_time).total_seconds() >= 600


async def test_a_pod_without_its_image_stays_pending_and_says_why(
    client: Client, namespace: str, fake_node: FakeNode
) -> None:
    fake_node.plan = PodPlan(image_missing=True)
    pod = await client.create(a_pod(namespace))

    waiting = await until(client, pod, lambda pod: pod.status.container_statuses)

    (status,) = waiting.status.container_statuses or []
    assert waiting.status.phase == "Pending"
    assert status.state is not None
    assert status.state.waiting is not None
    assert status.state.waiting.reason == "ImagePullBackOff"


async def test_the_plan_may_depend_on_the_pod(client: Client, namespace: str, fake_node: FakeNode) -> None:
    fake_node.plan = lambda pod: PodPlan(becomes_ready=pod.metadata.name == "good")
    bad = await client.create(a_pod(namespace, "bad"))
    good = await client.create(a_pod(namespace, "good"))

    assert is_ready(await until(client, good, is_ready))
    assert not is_ready(await until(client, bad, lambda pod: pod.status.phase == "Running"))


async def test_a_deleted_pod_is_gone_after_it_ended(client: Client, namespace: str, fake_node: FakeNode) -> None:
    pod = await until(client, await client.create(a_pod(namespace)), is_ready)

    await client.delete(core.Pod, "web", namespace)
    last = await until_gone(client, pod)

    assert last.metadata.deletion_timestamp is not None
    assert not is_ready(last)


async def test_a_pod_may_take_its_time_to_end_within_its_grace(client: Client, namespace: str) -> None:
    clock = ObservedClock()
    plan = PodPlan(stop_delay=3600)
    async with FakeNode(client, name=f"n-{namespace}", namespace=namespace, plan=plan, clock=clock):
        pod = await until(client, await client.create(a_pod(namespace)), is_ready)
        await client.delete(core.Pod, "web", namespace, grace_period_seconds=20)
        ending = await until(client, pod, lambda pod: pod.metadata.deletion_timestamp)
        assert is_ready(ending)
        await clock.until_asleep(20)
        await clock.advance(20)
        await until_gone(client, ending)


async def test_restart_fail_and_unready_can_be_triggered(client: Client, namespace: str, fake_node: FakeNode) -> None:
    pod = await until(client, await client.create(a_pod(namespace)), is_ready)

    await fake_node.set_ready("web", namespace, False)
    assert not is_ready(await client.get(core.Pod, "web", namespace))
    await fake_node.restart("web", namespace, exit_code=2)
    again = await client.get(core.Pod, "web", namespace)
    assert (restarts(again), is_ready(again)) == (1, True)
    await fake_node.fail("web", namespace, reason="Evicted", message="out of memory")

    failed = await until(client, pod, lambda pod: pod.status.phase == "Failed")
    assert (failed.status.reason, failed.status.message) == ("Evicted", "out of memory")


async def test_a_readiness_gate_holds_a_pod_back_until_its_condition_is_true(
    client: Client, namespace: str, fake_node: FakeNode
) -> None:
    gate = core.PodReadinessGate(condition_type="example.com/warm")
    pod = await client.create(a_pod(namespace, readiness_gates=[gate]))
    running = await until(client, pod, lambda pod: condition(pod, "ContainersReady") == "True")
    assert not is_ready(running)

    opened = {"status": {"conditions": [{"type": "example.com/warm", "status": "True"}]}}
    await client.patch(core.Pod, "web", StrategicPatch(opened), namespace, subresource="status")

    await until(client, pod, is_ready)


async def test_pods_that_another_scheduler_or_a_gate_holds_are_left_alone(
    client: Client, namespace: str, fake_node: FakeNode
) -> None:
    await client.create(a_pod(namespace, "theirs", scheduler_name="another"))
    await client.create(a_pod(namespace, "gated", scheduling_gates=[core.PodSchedulingGate(name="example.com/wait")]))
    # This one comes last, so the others were looked at when it is ready.
    await until(client, await client.create(a_pod(namespace, "ours")), is_ready)

    for name in ("theirs", "gated"):
        assert (await client.get(core.Pod, name, namespace)).spec.node_name is None


async def test_the_node_is_there_while_the_block_runs(client: Client, namespace: str) -> None:
    async with FakeNode(client, name=f"n-{namespace}", namespace=namespace):
        node = await client.get(core.Node, f"n-{namespace}")
        assert [each.status for each in node.status.conditions or [] if each.type == "Ready"] == ["True"]
    nodes = await client.list(core.Node)
    assert f"n-{namespace}" not in [node.metadata.name for node in nodes]
