"""Events of the simulated scheduler and kubelet about pods, in virtual time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kubewright.api import apps, core, meta
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.nodes import PodPlan
from kubewright.cluster.nodes._pod_events import duration  # private: a table of durations that takes hours with a pod
from kubewright.cluster.workloads import Workloads
from tests.cluster.workloads.conftest import World, a_deployment

PRESENT = 'Container image "{}" already present on machine and can be accessed by the pod'
Line = tuple[str, str, str, int]


async def make(world: World, plan: PodPlan, *containers: core.Container, **spec: Any) -> core.Pod:
    world.plans.default = plan
    made = core.PodSpec(containers=list(containers) or [core.Container(name="main", image="web:1")], **spec)
    pod = await world.client.create(core.Pod(metadata=meta.ObjectMeta(name="web"), spec=made))
    await world.clock.settled()
    return pod


async def events_of(world: World) -> list[Line]:
    """Returns type, reason, message and count of each event of the pod, as `kubectl describe` shows them."""
    await world.clock.settled()
    found = await world.client.list(core.Event, fields={"involvedObject.name": "web"})
    # Events of the scheduler use eventTime and come first.
    ordered = sorted(found, key=lambda event: "" if event.last_timestamp is None else str(event.last_timestamp))
    return [
        (
            event.type or "",
            event.reason or "",
            event.message or "",
            event.count or (event.series.count if event.series and event.series.count else 1),
        )
        for event in ordered
    ]


@pytest.mark.promise(
    "The embedded cluster",
    "Scheduler and kubelets record events about pods by the plans of the pods, and count repeated ones.",
)
async def test_records_scheduling_and_container_starts(world: World) -> None:
    latest = core.Container(name="side", image="side")
    init = [core.Container(name="first", image="init:1")]
    main = core.Container(name="main", image="web:1")
    await make(world, PodPlan(start_delay=1.5), main, latest, init_containers=init)
    await world.passes(2)
    assert await events_of(world) == [
        ("Normal", "Scheduled", "Successfully assigned default/web to node-1", 1),
        ("Normal", "Pulling", 'Pulling image "side"', 1),
        ("Normal", "Pulled", PRESENT.format("init:1"), 1),
        ("Normal", "Created", "Container created", 1),
        ("Normal", "Started", "Container started", 1),
        ("Normal", "Pulled", PRESENT.format("web:1"), 1),
        ("Normal", "Created", "Container created", 1),
        ("Normal", "Started", "Container started", 1),
        (
            "Normal",
            "Pulled",
            'Successfully pulled image "side" in 1.5s (1.5s including waiting). Image size: 0 bytes.',
            1,
        ),
        ("Normal", "Created", "Container created", 1),
        ("Normal", "Started", "Container started", 1),
    ]
    found = {event.involved_object.field_path: event for event in await world.all(core.Event)}
    assert {*found} == {None, "spec.initContainers{first}", "spec.containers{main}", "spec.containers{side}"}
    kubelet, scheduler = found["spec.containers{main}"], found[None]
    assert kubelet.source == core.EventSource(component="kubelet", host="node-1")
    assert (kubelet.reporting_component, kubelet.reporting_instance) == ("kubelet", "node-1")
    assert (scheduler.reporting_component, scheduler.action) == ("default-scheduler", "Binding")


@pytest.mark.promise(
    "The embedded cluster",
    "Scheduler and kubelets record events about pods by the plans of the pods, and count repeated ones.",
)
async def test_counts_repeated_crash_events(world: World) -> None:
    pod = await make(world, PodPlan(exit_after=1, exit_code=1, crash_loop=True))
    await world.passes(100)  # it exits after 1, 12, 33, 74 seconds, and restarts 10, 20, 40 and 80 seconds later
    whose = f"web_default({pod.metadata.uid})"
    assert sorted(await events_of(world)) == [
        ("Normal", "Created", "Container created", 4),
        ("Normal", "Pulled", PRESENT.format("web:1"), 4),
        ("Normal", "Scheduled", "Successfully assigned default/web to node-1", 1),
        ("Normal", "Started", "Container started", 4),
        ("Warning", "BackOff", f"Back-off restarting failed container main in pod {whose}", 4),
    ]


async def test_keeps_last_state_after_restart(world: World) -> None:
    await make(world, PodPlan(ready_delay=2, exit_after=30, exit_code=3, restart_delay=10))
    began = world.clock.now().replace(microsecond=0)
    await world.passes(50)
    [status] = (await world.get(core.Pod, "web")).status.container_statuses or []
    assert status.state is not None
    assert status.state.running is not None
    assert status.state.running.started_at == began + timedelta(seconds=42)
    assert status.last_state is not None
    ended = status.last_state.terminated
    assert ended is not None
    assert (status.restart_count, ended.exit_code, ended.reason) == (1, 3, "Error")
    assert (ended.started_at, ended.finished_at) == (began, began + timedelta(seconds=32))


async def test_image_pull_backs_off(world: World) -> None:
    await make(world, PodPlan(image_missing=True))
    await world.passes(60)  # at 0, 10 and 30 seconds
    why = 'failed to pull and unpack image "web:1": failed to resolve reference "web:1": web:1: not found'
    assert (await events_of(world))[1:] == [
        ("Normal", "Pulling", 'Pulling image "web:1"', 3),
        ("Warning", "Failed", f'Failed to pull image "web:1": rpc error: code = NotFound desc = {why}', 3),
        ("Warning", "Failed", "Error: ErrImagePull", 3),
        ("Normal", "BackOff", 'Back-off pulling image "web:1"', 3),
        ("Warning", "Failed", "Error: ImagePullBackOff", 3),
    ]


NO_VICTIMS = "No preemption victims found for incoming pod"


@pytest.mark.promise(
    "The embedded cluster",
    "Scheduler and kubelets record events about pods by the plans of the pods, and count repeated ones.",
)
async def test_records_failed_scheduling_until_a_node_suits(world: World) -> None:
    await make(world, PodPlan(unschedulable="Insufficient cpu"))
    await world.passes(310)
    none = "0/1 nodes are available: 1"
    why = f"{none} Insufficient cpu. no new claims to deallocate, preemption: {none} {NO_VICTIMS}."
    assert await events_of(world) == [("Warning", "FailedScheduling", why, 2)]
    pod = await world.get(core.Pod, "web")
    condition = next(each for each in pod.status.conditions or () if each.type == "PodScheduled")
    assert (pod.status.phase, pod.spec.node_name) == ("Pending", None)
    assert (condition.status, condition.reason, condition.message) == ("False", "Unschedulable", why)
    world.plans.default = PodPlan()
    await world.passes(300)
    assert [line[1] for line in await events_of(world)][:2] == ["FailedScheduling", "Scheduled"]
    assert (await world.get(core.Pod, "web")).status.phase == "Running"


@pytest.mark.promise(
    "The embedded cluster",
    "Scheduler and kubelets record events about pods by the plans of the pods, and count repeated ones.",
)
@pytest.mark.parametrize(
    ("probe", "outcome"),
    [
        (core.Probe(http_get=core.HTTPGetAction(port=80)), "HTTP probe failed with statuscode: 503"),
        (core.Probe(tcp_socket=core.TCPSocketAction(port="web")), "dial tcp {}:8080: connect: connection refused"),
        (core.Probe(grpc=core.GRPCAction(port=80)), 'service unhealthy (responded with "NOT_SERVING")'),
        (core.Probe(exec=core.ExecAction(command=["false"])), ""),
    ],
)
async def test_records_failed_readiness_probes(world: World, probe: core.Probe, outcome: str) -> None:
    probe.initial_delay_seconds, probe.period_seconds = 5, 20
    ports = [core.ContainerPort(name="web", container_port=8080)]
    main = core.Container(name="main", image="web:1", readiness_probe=probe, ports=ports)
    await make(world, PodPlan(ready_delay=50), main, core.Container(name="unprobed", image="web:1"))
    await world.passes(300)  # at 5, 25 and 45 seconds
    address = (await world.get(core.Pod, "web")).status.pod_ip
    expected = f"Readiness probe failed: {outcome.format(address)}"
    assert [line for line in await events_of(world) if line[0] == "Warning"] == [("Warning", "Unhealthy", expected, 3)]
    await world.cluster.nodes[0].set_ready("web", "default", False)
    await world.passes(30)  # after 5 and 25 seconds
    await world.cluster.nodes[0].set_ready("web", "default", True)
    await world.passes(300)
    assert [line for line in await events_of(world) if line[0] == "Warning"] == [("Warning", "Unhealthy", expected, 5)]


async def test_records_killing_of_containers(world: World) -> None:
    await make(world, PodPlan(stop_delay=5))
    await world.client.delete(core.Pod, "web")
    await world.passes(10)
    assert (await events_of(world))[-1] == ("Normal", "Killing", "Stopping container main", 1)
    assert await world.names(core.Pod) == []
    await make(world, PodPlan())
    await world.cluster.nodes[0].fail("web", "default", message="The node was low on resource: memory.")
    await world.passes(1)
    assert (await events_of(world))[-2:] == [
        ("Warning", "Evicted", "The node was low on resource: memory.", 1),
        ("Normal", "Killing", "Stopping container main", 1),
    ]


async def test_finished_pod_has_no_killing_event(world: World) -> None:
    await make(world, PodPlan(exit_after=1), restart_policy="Never")
    await world.passes(2)
    await world.client.delete(core.Pod, "web")
    await world.passes(2)
    assert [line[1] for line in await events_of(world)] == ["Scheduled", "Pulled", "Created", "Started"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (0.25, "250ms"), (1.5, "1.5s"), (20, "20s"), (120, "2m0s"), (90.5, "1m30.5s"), (3601, "1h0m1s")],
)
def test_formats_durations_like_go(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize("events", [True, False])
async def test_writes_events_unless_they_are_off(events: bool) -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, workloads=Workloads(events=events)) as cluster:
        client = cluster.client()
        await client.create(a_deployment(replicas=2))
        await clock.advance(60)
        deployment = await client.get(apps.Deployment, "web", "default")
        assert deployment.status.ready_replicas == 2
        assert bool(await client.list(core.Event)) == events
