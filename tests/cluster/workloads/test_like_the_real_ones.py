"""The same workloads leave the same objects on the embedded cluster and on a real control plane."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from kubewright.api import Quantity, apps, batch, core, discovery, meta, policy
from kubewright.client import Client, Conflict
from kubewright.cluster import Cluster
from kubewright.cluster.nodes import FakeNode, PodPlan
from kubewright.cluster.workloads import Workloads
from kubewright.testing import ControlPlane
from tests.cluster.workloads.leftovers import left
from tests.patience import PATIENCE

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(300)]

LABELS = {"app": "web"}
LOOKS = 150


@pytest.fixture(scope="module")
def control_plane() -> Iterator[ControlPlane]:
    """A separate control plane: its controllers would change the objects of other tests."""
    with ControlPlane() as plane:
        plane.ensure_controllers()
        yield plane


Case = Callable[[Client], Awaitable[None]]


def template(image: str = "nginx:1", **spec: Any) -> core.PodTemplateSpec:
    return core.PodTemplateSpec(
        metadata=meta.ObjectMeta(labels=dict(LABELS)),
        spec=core.PodSpec(containers=[core.Container(name="main", image=image)], **spec),
    )


SELECTOR = meta.LabelSelector(match_labels=dict(LABELS))


async def until(client: Client, kind: type[Any], name: str, holds: Callable[[Any], object]) -> None:
    """Waits until an object fulfills a condition."""
    async with asyncio.timeout(PATIENCE):
        async for event in client.watch(kind, client.namespace, fields=f"metadata.name={name}"):
            if event.type != "DELETED" and holds(event.object):
                return


async def change(client: Client, kind: type[Any], name: str, how: Callable[[Any], object]) -> None:
    """Changes an object; retries on conflicts."""
    while True:
        obj = await client.get(kind, name)
        how(obj)
        with contextlib.suppress(Conflict):
            await client.update(obj)
            return


async def controllers_know(client: Client, *, pods: int) -> None:
    """Waits until the controllers have seen the pods: one that sees its ReplicaSet first creates its own pods.

    The real controllers share one cache of pods, so the endpoints of a Service show its content.
    """
    service = core.ServiceSpec(selector=dict(LABELS), cluster_ip="None")
    await client.create(core.Service(metadata=meta.ObjectMeta(name="seen"), spec=service))

    def all_of_them(endpoints: core.Endpoints) -> bool:
        return sum(len(subset.addresses or ()) for subset in endpoints.subsets or ()) == pods

    await until(client, core.Endpoints, "seen", all_of_them)


def is_rolled_out(deployment: apps.Deployment) -> bool:
    status, wanted = deployment.status, deployment.spec.replicas
    counts = {status.replicas, status.updated_replicas, status.available_replicas}
    progressing = [each.reason for each in status.conditions or () if each.type == "Progressing"]
    seen = status.observed_generation == deployment.metadata.generation
    return seen and counts == {wanted or None} and progressing == ["NewReplicaSetAvailable"]


# The cases


async def a_deployment_is_rolled_out_twice(client: Client) -> None:
    spec = apps.DeploymentSpec(replicas=3, selector=SELECTOR, template=template(), revision_history_limit=5)
    metadata = meta.ObjectMeta(name="web", labels={"team": "a"}, annotations={"note": "x"})
    await client.create(apps.Deployment(metadata=metadata, spec=spec))
    await until(client, apps.Deployment, "web", is_rolled_out)
    await set_image(client, "nginx:2")
    await until(client, apps.Deployment, "web", lambda d: is_rolled_out(d) and _revision(d) == "2")


def _revision(deployment: apps.Deployment) -> str | None:
    return deployment.metadata.annotations.get("deployment.kubernetes.io/revision")


async def set_image(client: Client, image: str, kind: type[Any] = apps.Deployment, name: str = "web") -> None:
    def put(obj: Any) -> None:
        obj.spec.template.spec.containers[0].image = image

    await change(client, kind, name, put)


async def a_deployment_is_recreated(client: Client) -> None:
    strategy = apps.DeploymentStrategy(type="Recreate")
    spec = apps.DeploymentSpec(replicas=2, selector=SELECTOR, template=template(), strategy=strategy)
    await client.create(apps.Deployment(metadata=meta.ObjectMeta(name="web"), spec=spec))
    await until(client, apps.Deployment, "web", is_rolled_out)
    await set_image(client, "nginx:2")
    await until(client, apps.Deployment, "web", lambda d: is_rolled_out(d) and _revision(d) == "2")


async def a_paused_deployment_is_scaled(client: Client) -> None:
    spec = apps.DeploymentSpec(replicas=1, selector=SELECTOR, template=template())
    await client.create(apps.Deployment(metadata=meta.ObjectMeta(name="web"), spec=spec))
    await until(client, apps.Deployment, "web", is_rolled_out)

    def pause(deployment: apps.Deployment) -> None:
        deployment.spec.paused, deployment.spec.replicas = True, 3
        deployment.spec.template.spec.containers[0].image = "nginx:2"

    await change(client, apps.Deployment, "web", pause)

    def is_scaled(deployment: apps.Deployment) -> bool:
        reasons = [each.reason for each in deployment.status.conditions or ()]
        return deployment.status.available_replicas == 3 and "DeploymentPaused" in reasons

    await until(client, apps.Deployment, "web", is_scaled)


async def a_deployment_whose_pods_do_not_come_up(client: Client) -> None:
    spec = apps.DeploymentSpec(replicas=4, selector=SELECTOR, template=template("missing"), progress_deadline_seconds=2)
    await client.create(apps.Deployment(metadata=meta.ObjectMeta(name="web"), spec=spec))

    def has_failed(deployment: apps.Deployment) -> bool:
        return any(each.reason == "ProgressDeadlineExceeded" for each in deployment.status.conditions or ())

    await until(client, apps.Deployment, "web", has_failed)


async def a_stateful_set_is_updated_above_its_partition(client: Client) -> None:
    strategy = apps.StatefulSetUpdateStrategy(
        type="RollingUpdate", rolling_update=apps.RollingUpdateStatefulSetStrategy(partition=1)
    )
    spec = apps.StatefulSetSpec(
        replicas=2, selector=SELECTOR, service_name="web", template=template(), update_strategy=strategy
    )
    await client.create(apps.StatefulSet(metadata=meta.ObjectMeta(name="web"), spec=spec))
    await until(client, apps.StatefulSet, "web", lambda s: s.status.available_replicas == 2)
    await set_image(client, "nginx:2", apps.StatefulSet)

    def is_updated(stateful_set: apps.StatefulSet) -> bool:
        status = stateful_set.status
        return (
            status is not None
            and status.observed_generation == 2
            and (status.updated_replicas, status.current_replicas, status.available_replicas) == (1, 1, 2)
        )

    await until(client, apps.StatefulSet, "web", is_updated)


async def a_stateful_set_is_updated_and_shrinks(client: Client) -> None:
    spec = apps.StatefulSetSpec(
        replicas=3,
        selector=SELECTOR,
        service_name="web",
        template=template(),
        pod_management_policy="Parallel",
        min_ready_seconds=0,
    )
    await client.create(apps.StatefulSet(metadata=meta.ObjectMeta(name="web"), spec=spec))
    await until(client, apps.StatefulSet, "web", lambda s: s.status.available_replicas == 3)

    def shrink(stateful_set: apps.StatefulSet) -> None:
        stateful_set.spec.replicas = 1
        stateful_set.spec.template.spec.containers[0].image = "nginx:2"

    await change(client, apps.StatefulSet, "web", shrink)

    def is_done(stateful_set: apps.StatefulSet) -> bool:
        status = stateful_set.status
        return (
            status is not None
            and status.current_revision == status.update_revision
            and (status.replicas, status.available_replicas, status.observed_generation) == (1, 1, 2)
        )

    await until(client, apps.StatefulSet, "web", is_done)


async def a_daemon_set_is_updated(client: Client) -> None:
    spec = apps.DaemonSetSpec(selector=SELECTOR, template=template())
    await client.create(apps.DaemonSet(metadata=meta.ObjectMeta(name="web"), spec=spec))
    await until(client, apps.DaemonSet, "web", lambda d: d.status.number_available == 1)
    await set_image(client, "nginx:2", apps.DaemonSet)

    def is_updated(daemon_set: apps.DaemonSet) -> bool:
        status = daemon_set.status
        return (
            status is not None
            and status.observed_generation == 2
            and (status.updated_number_scheduled, status.number_available) == (1, 1)
        )

    await until(client, apps.DaemonSet, "web", is_updated)


def a_job(image: str, restart: str = "Never", **spec: Any) -> batch.Job:
    made = batch.JobSpec(template=template(image, restart_policy=restart), **spec)
    return batch.Job(metadata=meta.ObjectMeta(name="work"), spec=made)


def _has(job: batch.Job, type_: str) -> bool:
    return any(each.type == type_ and each.status == "True" for each in job.status.conditions or ())


async def a_job_completes(client: Client) -> None:
    await client.create(a_job("good", completions=3, parallelism=2))
    await until(client, batch.Job, "work", lambda job: _has(job, "Complete"))


async def an_indexed_job_completes(client: Client) -> None:
    await client.create(a_job("good", completions=3, parallelism=3, completion_mode="Indexed"))
    await until(client, batch.Job, "work", lambda job: _has(job, "Complete"))


async def a_job_fails(client: Client) -> None:
    await client.create(a_job("bad", backoff_limit=0, completions=2, parallelism=1))
    await until(client, batch.Job, "work", lambda job: _has(job, "Failed"))


async def a_job_is_suspended(client: Client) -> None:
    await client.create(a_job("nginx", suspend=True))
    await until(client, batch.Job, "work", lambda job: _has(job, "Suspended"))


async def a_job_passes_its_deadline(client: Client) -> None:
    # Long enough for its pods to run by then, even on a slow machine. A pod that ends successfully before the Job
    # controller counts it as deleted would count as succeeded, on both clusters.
    await client.create(a_job("slow-to-stop", active_deadline_seconds=5, completions=2, parallelism=2))
    await until(client, batch.Job, "work", lambda job: _has(job, "Failed"))


async def a_job_restarts_in_place_too_often(client: Client) -> None:
    await client.create(a_job("bad", restart="OnFailure", backoff_limit=1))
    await until(client, batch.Job, "work", lambda job: _has(job, "Failed"))


def on_code(action: str, code: int) -> batch.PodFailurePolicy:
    wanted = batch.PodFailurePolicyOnExitCodesRequirement(operator="In", values=[code])
    return batch.PodFailurePolicy(rules=[batch.PodFailurePolicyRule(action=action, on_exit_codes=wanted)])


async def a_job_is_ended_by_a_rule(client: Client) -> None:
    await client.create(a_job("bad", pod_failure_policy=on_code("FailJob", 1)))
    await until(client, batch.Job, "work", lambda job: _has(job, "Failed"))


async def a_job_succeeds_by_a_rule(client: Client) -> None:
    policy = batch.SuccessPolicy(rules=[batch.SuccessPolicyRule(succeeded_indexes="0")])
    await client.create(a_job("good", success_policy=policy, completions=2, parallelism=1, completion_mode="Indexed"))
    await until(client, batch.Job, "work", lambda job: _has(job, "Complete"))


async def a_job_gives_indexes_up(client: Client) -> None:
    await client.create(
        a_job("bad", completions=2, parallelism=2, completion_mode="Indexed", backoff_limit_per_index=0)
    )
    await until(client, batch.Job, "work", lambda job: _has(job, "Failed"))


async def a_job_is_slowed_down(client: Client) -> None:
    await client.create(a_job("nginx", completions=4, parallelism=3))
    await until(client, batch.Job, "work", lambda job: job.status.ready == 3)

    def slow_down(job: batch.Job) -> None:
        job.spec.parallelism = 1

    await change(client, batch.Job, "work", slow_down)
    await until(client, batch.Job, "work", lambda job: (job.status.active, job.status.ready) == (1, 1))


async def a_replica_set_adopts_and_lets_go(client: Client) -> None:
    for name in ("a", "b"):
        metadata = meta.ObjectMeta(name=name, labels=dict(LABELS))
        await client.create(core.Pod(metadata=metadata, spec=template().spec))
    await controllers_know(client, pods=2)
    spec = apps.ReplicaSetSpec(replicas=2, selector=SELECTOR, template=template())
    await client.create(apps.ReplicaSet(metadata=meta.ObjectMeta(name="web"), spec=spec))
    await until(client, apps.ReplicaSet, "web", lambda found: found.status.available_replicas == 2)

    def relabel(pod: core.Pod) -> None:
        pod.metadata.labels["app"] = "other"

    await change(client, core.Pod, "b", relabel)
    await until(client, core.Pod, "b", lambda pod: not pod.metadata.owner_references)
    await until(client, apps.ReplicaSet, "web", lambda found: found.status.available_replicas == 2)


async def a_service_has_ready_and_other_pods(client: Client) -> None:
    for name, image in (("one", "nginx"), ("two", "never-ready"), ("done", "good")):
        pod = core.Pod(
            metadata=meta.ObjectMeta(name=name, labels=dict(LABELS)),
            spec=core.PodSpec(
                containers=[
                    core.Container(
                        name="main", image=image, ports=[core.ContainerPort(name="http", container_port=8080)]
                    )
                ],
                restart_policy="Never",
            ),
        )
        await client.create(pod)
    await until(
        client,
        core.Pod,
        "one",
        lambda pod: any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions or ()),
    )
    await until(client, core.Pod, "two", lambda pod: pod.status.phase == "Running")
    await until(client, core.Pod, "done", lambda pod: pod.status.phase == "Succeeded")
    ports = [core.ServicePort(name="http", port=80, target_port="http"), core.ServicePort(name="other", port=81)]
    service = core.ServiceSpec(selector=dict(LABELS), ports=ports, cluster_ip="None")
    await client.create(core.Service(metadata=meta.ObjectMeta(name="web", labels={"team": "a"}), spec=service))
    await until(client, core.Endpoints, "web", lambda endpoints: endpoints.subsets)
    async with asyncio.timeout(PATIENCE):
        async for event in client.watch(discovery.EndpointSlice, client.namespace):
            if event.object.endpoints and len(event.object.endpoints) == 2:
                return


async def a_deployment_goes_back(client: Client) -> None:
    await a_deployment_is_rolled_out_twice(client)
    await set_image(client, "nginx:1")
    await until(client, apps.Deployment, "web", lambda d: is_rolled_out(d) and _revision(d) == "3")


async def a_stateful_set_on_delete(client: Client) -> None:
    spec = apps.StatefulSetSpec(
        replicas=2,
        selector=SELECTOR,
        service_name="web",
        template=template(),
        update_strategy=apps.StatefulSetUpdateStrategy(type="OnDelete"),
    )
    await client.create(apps.StatefulSet(metadata=meta.ObjectMeta(name="web"), spec=spec))
    await until(client, apps.StatefulSet, "web", lambda s: s.status.available_replicas == 2)
    await set_image(client, "nginx:2", apps.StatefulSet)
    await until(client, apps.StatefulSet, "web", lambda s: s.status.observed_generation == 2)
    await client.delete(core.Pod, "web-1")
    await until(
        client, apps.StatefulSet, "web", lambda s: s.status.updated_replicas == 1 and s.status.ready_replicas == 2
    )


async def a_claim_takes_a_volume_that_is_there(client: Client) -> None:
    size = {"storage": Quantity("1Gi")}
    volume = core.PersistentVolumeSpec(
        access_modes=["ReadWriteOnce"],
        capacity=size,
        host_path=core.HostPathVolumeSource(path="/data"),
        storage_class_name="by-hand",
    )
    await client.create(core.PersistentVolume(metadata=meta.ObjectMeta(name="by-hand"), spec=volume))
    claim = core.PersistentVolumeClaimSpec(
        access_modes=["ReadWriteOnce"],
        resources=core.VolumeResourceRequirements(requests=size),
        storage_class_name="by-hand",
    )
    await client.create(core.PersistentVolumeClaim(metadata=meta.ObjectMeta(name="data"), spec=claim))
    await until(client, core.PersistentVolumeClaim, "data", lambda found: found.status.phase == "Bound")


async def pods_have_to_leave_a_tainted_node(client: Client) -> None:
    taint = core.Taint(key="special", effect="NoExecute")
    await client.create(core.Node(metadata=meta.ObjectMeta(name="tainted"), spec=core.NodeSpec(taints=[taint])))
    for name, seconds in {"at-once": 0, "late": 3600, "never": None}.items():
        toleration = core.Toleration(key="special", operator="Exists", effect="NoExecute", toleration_seconds=seconds)
        spec = template(node_name="tainted", tolerations=[toleration]).spec
        await client.create(core.Pod(metadata=meta.ObjectMeta(name=name), spec=spec))
    await until(client, core.Pod, "at-once", lambda pod: pod.metadata.deletion_timestamp is not None)


def a_budget(name: str, selector: meta.LabelSelector | None = SELECTOR, **spec: Any) -> policy.PodDisruptionBudget:
    made = policy.PodDisruptionBudgetSpec(selector=selector, **spec)
    return policy.PodDisruptionBudget(metadata=meta.ObjectMeta(name=name), spec=made)


async def budgets_are_counted(client: Client) -> None:
    # Separate pods for each: with several budgets for one pod, the real controller chooses one at random.
    forms: dict[str, dict[str, Any]] = {
        "at-least-two": {"min_available": 2},
        "at-least-half": {"min_available": "50%"},
        "one-may-miss": {"max_unavailable": 1},
        "a-third-may-miss": {"max_unavailable": "33%"},
        "all-must-stay": {"max_unavailable": 0},
        "all-may-miss": {"max_unavailable": 5},
    }
    for name, form in forms.items():
        selector = meta.LabelSelector(match_labels={"app": name})
        pods = template()
        pods.metadata.labels = {"app": name}
        spec = apps.ReplicaSetSpec(replicas=3, selector=selector, template=pods)
        await client.create(apps.ReplicaSet(metadata=meta.ObjectMeta(name=name), spec=spec))
        await client.create(a_budget(name, selector, **form))
    await client.create(a_budget("without-pods", meta.LabelSelector(match_labels={"app": "none"}), max_unavailable=1))
    await client.create(a_budget("without-selector", None, min_available=1))
    await client.create(a_budget("of-a-daemon-set", max_unavailable=1))
    # A budget that cannot be computed keeps its numbers: so it is computed first, without pods.
    await until(client, policy.PodDisruptionBudget, "of-a-daemon-set", lambda found: found.status.observed_generation)
    daemons = apps.DaemonSetSpec(selector=SELECTOR, template=template())
    await client.create(apps.DaemonSet(metadata=meta.ObjectMeta(name="web"), spec=daemons))
    for name in forms:
        await until(client, apps.ReplicaSet, name, lambda found: found.status.available_replicas == 3)
    await until(client, apps.DaemonSet, "web", lambda found: found.status.number_available == 1)


async def a_pod_goes_as_its_budget_allows(client: Client) -> None:
    spec = apps.DeploymentSpec(replicas=3, selector=SELECTOR, template=template())
    await client.create(apps.Deployment(metadata=meta.ObjectMeta(name="web"), spec=spec))
    # A budget that still allows disruptions: the owner of the condition's time depends on the second of the change.
    await client.create(a_budget("guard", max_unavailable=2))

    def allows_all_it_can(budget: policy.PodDisruptionBudget) -> bool:
        return (budget.status.current_healthy, budget.status.disruptions_allowed) == (3, 2)

    await until(client, policy.PodDisruptionBudget, "guard", allows_all_it_can)
    first, *_ = await client.list(core.Pod, client.namespace)
    await client.evict(first.metadata.name)
    await until(client, policy.PodDisruptionBudget, "guard", lambda budget: not allows_all_it_can(budget))
    await until(client, policy.PodDisruptionBudget, "guard", allows_all_it_can)


async def a_replication_controller_is_scaled(client: Client) -> None:
    spec = core.ReplicationControllerSpec(replicas=3, selector=dict(LABELS), template=template(), min_ready_seconds=1)
    await client.create(core.ReplicationController(metadata=meta.ObjectMeta(name="web"), spec=spec))
    await until(client, core.ReplicationController, "web", lambda found: found.status.available_replicas == 3)

    def shrink(found: core.ReplicationController) -> None:
        found.spec.replicas = 1

    await change(client, core.ReplicationController, "web", shrink)
    await until(client, core.ReplicationController, "web", lambda found: found.status.replicas == 1)


CASES: list[Case] = [
    a_replication_controller_is_scaled,
    budgets_are_counted,
    a_pod_goes_as_its_budget_allows,
    pods_have_to_leave_a_tainted_node,
    a_deployment_goes_back,
    a_stateful_set_on_delete,
    a_claim_takes_a_volume_that_is_there,
    a_deployment_is_rolled_out_twice,
    a_deployment_is_recreated,
    a_paused_deployment_is_scaled,
    a_deployment_whose_pods_do_not_come_up,
    a_stateful_set_is_updated_above_its_partition,
    a_stateful_set_is_updated_and_shrinks,
    a_daemon_set_is_updated,
    a_job_completes,
    an_indexed_job_completes,
    a_job_fails,
    a_job_is_suspended,
    a_job_passes_its_deadline,
    a_job_restarts_in_place_too_often,
    a_job_is_slowed_down,
    a_job_is_ended_by_a_rule,
    a_job_succeeds_by_a_rule,
    a_job_gives_indexes_up,
    a_replica_set_adopts_and_lets_go,
    a_service_has_ready_and_other_pods,
]


# Running and comparing


PLANS = {
    "missing": PodPlan(image_missing=True),
    "good": PodPlan(exit_after=0.1),
    "bad": PodPlan(exit_after=0.1, exit_code=1),
    "never-ready": PodPlan(becomes_ready=False),
    "slow-to-stop": PodPlan(stop_delay=5.0),
}


def plan(pod: core.Pod) -> PodPlan:
    return PLANS.get(pod.spec.containers[0].image or "", PodPlan())


@pytest.fixture(scope="module")
def outcomes(control_plane: ControlPlane) -> dict[str, tuple[str, str]]:
    """Returns the results of each case on both clusters. All cases run concurrently."""
    return asyncio.run(outcomes_on(control_plane))


async def outcomes_on(plane: ControlPlane) -> dict[str, tuple[str, str]]:
    async with (
        Cluster(workloads=Workloads(plan=plan)) as cluster,
        Client.connect(kubeconfig=plane.kubeconfig) as real,
        FakeNode(real, name="node-1", plan=plan),
    ):
        made = await asyncio.gather(*(outcome(case, cluster, plane) for case in CASES))
    return {case.__name__: result for case, result in zip(CASES, made, strict=True)}


async def outcome(case: Case, cluster: Cluster, plane: ControlPlane) -> tuple[str, str]:
    """Returns both results once they are equal, or at the timeout."""
    namespace = case.__name__.replace("_", "-")
    async with (
        cluster.client(namespace=namespace) as embedded,
        Client.connect(kubeconfig=plane.kubeconfig, namespace=namespace) as real,
    ):
        for client in (embedded, real):
            await client.create(core.Namespace(metadata=meta.ObjectMeta(name=namespace)))
        await asyncio.gather(case(embedded), case(real))
        ours = theirs = ""
        for _ in range(LOOKS):
            ours, theirs = await left(embedded, namespace), await left(real, namespace)
            if ours == theirs:
                break
            await asyncio.sleep(0.2)  # real: the last steps of a controller have no condition to wait for
        return ours, theirs


@pytest.mark.promise("The embedded cluster", "Workloads leave the same objects as the real controllers.")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_objects_match_the_real_controllers(case: Case, outcomes: dict[str, tuple[str, str]]) -> None:
    ours, theirs = outcomes[case.__name__]
    difference = difflib.unified_diff(theirs.splitlines(), ours.splitlines(), "real", "embedded", n=12, lineterm="")
    assert ours == theirs, "\n".join(difference)
