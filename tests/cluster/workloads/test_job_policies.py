"""Policies of Jobs in the embedded cluster, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kubewright.api import batch, core
from kubewright.cluster.nodes import PodPlan
from tests.cluster.workloads.conftest import Plans, World, a_job, conditions

INDEX = "batch.kubernetes.io/job-completion-index"


@pytest.fixture
def plans() -> Plans:
    made = Plans()
    made.by_image = {
        "good": PodPlan(exit_after=5),
        "bad": PodPlan(exit_after=1, exit_code=3),
        "long": PodPlan(),
    }
    return made


def on_codes(action: str, *codes: int, operator: str = "In") -> batch.PodFailurePolicy:
    wanted = batch.PodFailurePolicyOnExitCodesRequirement(operator=operator, values=list(codes))
    return batch.PodFailurePolicy(rules=[batch.PodFailurePolicyRule(action=action, on_exit_codes=wanted)])


async def the(world: World) -> batch.Job:
    return await world.get(batch.Job, "work")


@pytest.mark.promise(
    "The embedded cluster",
    "Policies of Jobs decide which failures count, which end the Job, and what counts as success.",
)
async def test_fail_job_rule_ends_the_job(world: World) -> None:
    await world.client.create(a_job(image="bad", pod_failure_policy=on_codes("FailJob", 3), backoff_limit=6))
    await world.passes(3)
    job, pods = await the(world), await world.names(core.Pod)
    assert conditions(job) == {"FailureTarget": ("True", "PodFailurePolicy"), "Failed": ("True", "PodFailurePolicy")}
    message = f"Container main for pod default/{pods[0]} failed with exit code 3 matching FailJob rule at index 0"
    assert {each.message for each in job.status.conditions or ()} == {message}
    assert (job.status.failed, len(pods)) == (1, 1)


@pytest.mark.promise(
    "The embedded cluster",
    "Policies of Jobs decide which failures count, which end the Job, and what counts as success.",
)
async def test_ignore_rule_does_not_count_the_failure(world: World) -> None:
    await world.client.create(a_job(image="bad", pod_failure_policy=on_codes("Ignore", 3), backoff_limit=0))
    await world.passes(3)
    job = await the(world)
    assert (conditions(job), job.status.failed) == ({}, None)
    assert len(await world.names(core.Pod)) > 1
    assert {tuple(pod.metadata.finalizers) for pod in await world.all(core.Pod) if pod.status.phase == "Failed"} == {()}


async def test_unmatched_failure_counts(world: World) -> None:
    await world.client.create(a_job(image="bad", pod_failure_policy=on_codes("FailJob", 7), backoff_limit=0))
    await world.passes(3)
    assert conditions(await the(world))["Failed"] == ("True", "BackoffLimitExceeded")


async def test_not_in_operator_of_exit_codes(world: World) -> None:
    policy = on_codes("FailJob", 1, 2, operator="NotIn")
    await world.client.create(a_job(image="bad", pod_failure_policy=policy, backoff_limit=6))
    await world.passes(3)
    assert conditions(await the(world))["Failed"] == ("True", "PodFailurePolicy")


async def test_ignores_disrupted_pod(world: World) -> None:
    pattern = batch.PodFailurePolicyOnPodConditionsPattern(type="DisruptionTarget", status="True")
    rule = batch.PodFailurePolicyRule(action="Ignore", on_pod_conditions=[pattern])
    policy = batch.PodFailurePolicy(rules=[rule])
    await world.client.create(a_job(image="long", pod_failure_policy=policy, backoff_limit=0))
    await world.passes(3)
    (pod,) = await world.all(core.Pod)
    condition = core.PodCondition(type="DisruptionTarget", status="True", reason="Test")
    pod.status.conditions = [*(pod.status.conditions or ()), condition]
    pod.status.phase = "Failed"
    await world.client.update_status(pod)
    await world.passes(3)
    job = await the(world)
    assert (conditions(job), job.status.failed, job.status.active) == ({}, None, 1)


def by_index(world: World, choose: Callable[[int], PodPlan]) -> None:
    """Chooses the plan of a pod by its index."""
    for node in world.cluster.nodes:
        node.plan = lambda pod: choose(int(pod.metadata.annotations.get(INDEX, "-1")))


def an_indexed_job(count: int, limit: int, **spec: Any) -> batch.Job:
    """Returns a Job whose pods run concurrently, with a backoff limit per index."""
    counts: dict[str, Any] = {"completions": count, "parallelism": count, "backoff_limit_per_index": limit}
    return a_job(completion_mode="Indexed", **counts, **spec)


@pytest.mark.promise(
    "The embedded cluster",
    "Policies of Jobs decide which failures count, which end the Job, and what counts as success.",
)
async def test_success_policy_needs_some_indexes(world: World) -> None:
    by_index(world, lambda index: PodPlan(exit_after=2) if index == 0 else PodPlan())
    rule = batch.SuccessPolicyRule(succeeded_indexes="0,2", succeeded_count=1)
    policy = batch.SuccessPolicy(rules=[rule])
    await world.client.create(a_job(completions=3, parallelism=3, completion_mode="Indexed", success_policy=policy))
    await world.passes(60)
    job = await the(world)
    assert conditions(job) == {"SuccessCriteriaMet": ("True", "SuccessPolicy"), "Complete": ("True", "SuccessPolicy")}
    assert {each.message for each in job.status.conditions or ()} == {"Matched rules at index 0"}
    assert (job.status.succeeded, job.status.failed, job.status.active) == (1, None, None)
    assert len(await world.names(core.Pod)) == 1


@pytest.mark.promise(
    "The embedded cluster",
    "Policies of Jobs decide which failures count, which end the Job, and what counts as success.",
)
async def test_backoff_limit_per_index(world: World) -> None:
    by_index(world, lambda index: PodPlan(exit_after=1, exit_code=3 if index == 1 else 0))
    spec: dict[str, Any] = {
        "completions": 3,
        "parallelism": 3,
        "completion_mode": "Indexed",
        "backoff_limit_per_index": 1,
    }
    await world.client.create(a_job(**spec))
    await world.passes(5)
    job = await the(world)
    assert (job.status.completed_indexes, job.status.failed_indexes, conditions(job)) == ("0,2", "", {})
    await world.passes(30)
    job = await the(world)
    assert (job.status.completed_indexes, job.status.failed_indexes) == ("0,2", "1")
    assert conditions(job)["Failed"] == ("True", "FailedIndexes")
    assert job.status.failed == 2


async def test_max_failed_indexes_ends_the_job(world: World) -> None:
    by_index(world, lambda index: PodPlan(exit_after=1, exit_code=3) if index < 2 else PodPlan())
    spec: dict[str, Any] = {
        "completions": 3,
        "parallelism": 3,
        "completion_mode": "Indexed",
        "backoff_limit_per_index": 0,
    }
    await world.client.create(a_job(**spec, max_failed_indexes=1))
    await world.passes(60)
    job = await the(world)
    assert conditions(job)["Failed"] == ("True", "MaxFailedIndexesExceeded")
    assert job.status.failed_indexes == "0,1"


async def test_fail_index_rule_stops_retries(world: World) -> None:
    by_index(world, lambda index: PodPlan(exit_after=1, exit_code=3 if index == 0 else 0))
    spec: dict[str, Any] = {
        "completions": 2,
        "parallelism": 2,
        "completion_mode": "Indexed",
        "backoff_limit_per_index": 5,
    }
    await world.client.create(a_job(**spec, pod_failure_policy=on_codes("FailIndex", 3)))
    await world.passes(5)
    job = await the(world)
    assert (job.status.completed_indexes, job.status.failed_indexes) == ("1", "0")
    assert conditions(job)["Failed"] == ("True", "FailedIndexes")
