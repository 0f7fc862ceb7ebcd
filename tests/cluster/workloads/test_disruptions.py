"""Disruption budgets: allowed disruptions are computed, and evictions decrement them."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

import kubewright as kw
from kubewright.api import apps, core, find_condition, meta, policy
from kubewright.client import ApiError, Forbidden, MergePatch, TooManyRequests
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.nodes import PodPlan
from kubewright.crd import install
from kubewright.testing import RealCluster
from tests.cluster.workloads.conftest import (
    LABELS,
    Plans,
    World,
    a_daemon_set,
    a_deployment,
    a_stateful_set,
    conditions,
    template,
)

Budget = policy.PodDisruptionBudget
AnyCluster = Cluster | RealCluster


def a_budget(name: str = "few", **spec: Any) -> Budget:
    selector = meta.LabelSelector(match_labels=dict(LABELS))
    return Budget(metadata=meta.ObjectMeta(name=name), spec=policy.PodDisruptionBudgetSpec(selector=selector, **spec))


def a_pod(name: str = "alone", image: str = "nginx:1") -> core.Pod:
    return core.Pod(metadata=meta.ObjectMeta(name=name, labels=dict(LABELS)), spec=template(image).spec)


async def counted(world: World, name: str = "few") -> tuple[int | None, ...]:
    """Returns expected, healthy, desired and allowed pods."""
    status = (await world.get(Budget, name)).status
    return status.expected_pods, status.current_healthy, status.desired_healthy, status.disruptions_allowed


async def rolled_out(world: World, *objects: Any) -> None:
    for obj in objects:
        await world.client.create(obj)
    await world.passes(5)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"min_available": 2}, (4, 4, 2, 2)),
        ({"min_available": 5}, (4, 4, 5, 0)),
        ({"min_available": "30%"}, (4, 4, 2, 2)),
        ({"max_unavailable": 1}, (4, 4, 3, 1)),
        ({"max_unavailable": "30%"}, (4, 4, 2, 2)),
        ({"max_unavailable": 7}, (4, 4, 0, 4)),
        ({}, (0, 4, 0, 0)),
    ],
    ids=str,
)
async def test_computes_allowed_disruptions(world: World, spec: dict[str, Any], expected: tuple[int, ...]) -> None:
    await rolled_out(world, a_deployment(replicas=4), a_budget(**spec))
    assert await counted(world) == expected
    budget = await world.get(Budget, "few")
    allowed = ("True", "SufficientPods") if expected[-1] else ("False", "InsufficientPods")
    assert conditions(budget) == {"DisruptionAllowed": allowed}
    assert budget.status.observed_generation == budget.metadata.generation == 1


async def test_budget_without_pods_allows_nothing(world: World) -> None:
    await rolled_out(world, a_budget(max_unavailable=1))
    assert await counted(world) == (0, 0, 0, 0)
    assert set(await world.events("NoPods")) == {"No matching pods found"}


async def test_unready_pods_are_not_healthy(world: World, plans: Plans) -> None:
    plans.by_image["slow:1"] = PodPlan(ready_delay=60)
    await rolled_out(world, a_deployment(replicas=2, image="slow:1"), a_budget(min_available=1))
    assert await counted(world) == (2, 0, 1, 0)
    await world.passes(60)
    assert await counted(world) == (2, 2, 1, 1)


async def test_deployment_counts_once_during_a_rollout(world: World, plans: Plans) -> None:
    await rolled_out(world, a_deployment(replicas=4), a_budget(max_unavailable="50%"))
    plans.by_image["broken:1"] = PodPlan(ready_delay=10_000)

    def break_it(deployment: Any) -> None:
        deployment.spec.template.spec.containers[0].image = "broken:1"

    await world.change(apps.Deployment, "web", break_it)
    await world.passes(5)
    expected, healthy, wanted, _ = await counted(world)
    assert (expected, healthy, wanted) == (4, 3, 2)


async def test_uses_the_scale_of_stateful_sets(world: World) -> None:
    await rolled_out(world, a_stateful_set(replicas=3), a_budget(max_unavailable=1))
    await world.passes(10)
    assert await counted(world) == (3, 3, 2, 1)


async def test_uses_the_scale_of_custom_kinds(world: World) -> None:
    class FarmSpec(kw.Model):
        replicas: int = 0

    class FarmStatus(kw.Model):
        replicas: int = 0

    @kw.resource("budgets.example.com/v1", scale_subresource=True)
    class Farm(kw.Resource[FarmSpec, FarmStatus]):
        """A custom workload kind."""

    await install(world.client, Farm)
    farm = await world.client.create(Farm(metadata=meta.ObjectMeta(name="farm"), spec=FarmSpec(replicas=10)))
    pod = a_pod()
    owner = meta.OwnerReference(
        api_version="budgets.example.com/v1", kind="Farm", name="farm", uid=farm.metadata.uid, controller=True
    )
    pod.metadata.owner_references = [owner]
    await rolled_out(world, pod, a_budget(min_available="10%"))
    assert await counted(world) == (10, 1, 1, 0)


async def test_controller_without_scale_allows_nothing(world: World) -> None:
    await rolled_out(world, a_daemon_set(), a_budget(max_unavailable=1))
    budget = await world.get(Budget, "few")
    assert conditions(budget) == {"DisruptionAllowed": ("False", "SyncFailed")}
    [condition] = budget.status.conditions or []
    assert condition.message == "daemonsets.apps does not implement the scale subresource"
    message = (
        "Failed to calculate the number of expected pods: daemonsets.apps does not implement the scale subresource"
    )
    assert set(await world.events("CalculateExpectedPodCountFailed")) == {message}

    def count_them(budget: Budget) -> None:
        budget.spec.max_unavailable, budget.spec.min_available = None, 0

    await world.change(Budget, "few", count_them)
    await world.passes(1)
    assert conditions(await world.get(Budget, "few")) == {"DisruptionAllowed": ("True", "SufficientPods")}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("Ghost", 'no matches for kind "Ghost" in version "apps/v1"'),
        ("StatefulSet", 'found no controllers for pod "alone"'),
    ],
)
async def test_unknown_controller_allows_nothing(kind: str, message: str) -> None:
    clock = VirtualClock()
    async with (
        # otherwise the garbage collector deletes the pod
        Cluster(clock=clock, controllers=False, workloads=True) as cluster,
        cluster.client(namespace="default") as client,
    ):
        owner = meta.OwnerReference(api_version="apps/v1", kind=kind, name="gone", uid="x", controller=True)
        pod = a_pod()
        pod.metadata.owner_references = [owner]
        await client.create(pod)
        await client.create(a_budget(max_unavailable=1))
        await clock.advance(5)
        await cluster.settled()
        [condition] = (await client.get(Budget, "few")).status.conditions or []
        assert (condition.reason, condition.message) == ("SyncFailed", message)


async def test_reports_pods_without_controller(world: World) -> None:
    await rolled_out(world, a_pod(), a_budget(max_unavailable=1))
    assert await counted(world) == (0, 1, 0, 0)
    [message] = set(await world.events("UnmanagedPods"))
    assert message.startswith(
        "Pods selected by this PodDisruptionBudget (selector: app=web) were found to be unmanaged"
    )


async def test_eviction_is_denied_until_the_budget_allows_it(world: World) -> None:
    await rolled_out(world, a_deployment(replicas=2), a_budget(min_available=1))
    one, two = await world.names(core.Pod)
    await world.client.evict(one)
    with pytest.raises(TooManyRequests, match="violate the pod's disruption budget") as refused:
        await world.client.evict(two)
    [why] = [cause.message for cause in refused.value.causes]
    assert why == "The disruption budget few does not allow evicting pods currently"
    await world.passes(40)  # the Deployment has created another
    assert await counted(world) == (2, 2, 1, 1)
    assert not (await world.get(Budget, "few")).status.disrupted_pods
    await world.client.evict(two)


async def test_concurrent_evictions_respect_the_budget(world: World) -> None:
    await rolled_out(world, a_deployment(replicas=5), a_budget(max_unavailable=2))
    names = await world.names(core.Pod)
    answers = await asyncio.gather(*(world.client.evict(name) for name in names), return_exceptions=True)
    assert sum(answer is None for answer in answers) == 2
    assert all(isinstance(answer, TooManyRequests) for answer in answers if answer is not None)


async def test_counts_evicted_pod_again_if_it_stays(world: World) -> None:
    await rolled_out(world, a_deployment(replicas=2), a_budget(min_available=1))
    [name, _] = await world.names(core.Pod)
    said = {"status": {"disruptedPods": {name: world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")}}}
    await world.client.patch(Budget, "few", MergePatch(said), subresource="status")
    await world.passes(1)
    assert await counted(world) == (2, 1, 1, 0)
    await world.passes(121)
    assert await counted(world) == (2, 2, 1, 1)
    assert not (await world.get(Budget, "few")).status.disrupted_pods


async def test_withdraws_stale_disruption_condition(world: World) -> None:
    await rolled_out(world, a_pod())
    since = world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    pod = await world.get(core.Pod, "alone")
    ready = [{"type": each.type, "status": each.status} for each in pod.status.conditions or ()]
    target = {"type": "DisruptionTarget", "status": "True", "reason": "MyReason", "lastTransitionTime": since}
    await world.client.patch(
        core.Pod, "alone", MergePatch({"status": {"conditions": [*ready, target]}}), subresource="status"
    )
    await world.passes(60)
    assert conditions(await world.get(core.Pod, "alone"))["DisruptionTarget"] == ("True", "MyReason")
    await world.passes(61)
    pod = await world.get(core.Pod, "alone")
    assert conditions(pod)["DisruptionTarget"] == ("False", None)
    condition = find_condition(pod.status, "DisruptionTarget")
    assert condition is not None
    assert condition.last_transition_time == world.clock.now().replace(microsecond=0) - timedelta(seconds=1)


@pytest.mark.clusters
async def test_bounds_recorded_evictions_of_a_budget(cluster: AnyCluster, cluster_namespace: str) -> None:
    async with cluster.client(namespace=cluster_namespace) as client:
        await client.create(a_pod())
        running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
        await client.patch(core.Pod, "alone", MergePatch(running), subresource="status")
        await client.create(a_budget(min_available=0))
        names = {f"pod-{number}": "2026-01-01T00:00:00Z" for number in range(2001)}
        status = {"observedGeneration": 1, "disruptionsAllowed": 1, "disruptedPods": names}
        await client.patch(Budget, "few", MergePatch({"status": status}), subresource="status")
        with pytest.raises(Forbidden) as refused:
            await client.evict("alone")
        assert refused.value.status.message == (
            'poddisruptionbudget.policy "few" is forbidden: '
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        )


async def test_rejects_eviction_with_two_budgets(world: World) -> None:
    await rolled_out(world, a_deployment(replicas=1), a_budget(min_available=0), a_budget("other", min_available=0))
    [name] = await world.names(core.Pod)
    with pytest.raises(ApiError, match="more than one PodDisruptionBudget"):
        await world.client.evict(name)
