"""Jobs in the embedded cluster, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api import batch, core
from kubewright.cluster.nodes import PodPlan
from tests.cluster.workloads.conftest import Plans, World, a_job, conditions

DONE = {"SuccessCriteriaMet": ("True", "CompletionsReached"), "Complete": ("True", "CompletionsReached")}


@pytest.fixture
def plans() -> Plans:
    made = Plans()
    made.by_image = {
        "job:1": PodPlan(exit_after=10),
        "bad": PodPlan(exit_after=1, exit_code=3),
        "crash": PodPlan(exit_after=1, exit_code=1, crash_loop=True),
    }
    return made


async def the(world: World, name: str = "work") -> batch.Job:
    return await world.get(batch.Job, name)


@pytest.mark.promise(
    "The embedded cluster",
    "A Job finishes when enough pods have succeeded or too many have failed; each pod counts once.",
)
async def test_runs_pods_in_parallel_until_completion(world: World) -> None:
    await world.client.create(a_job(completions=5, parallelism=2))
    await world.passes(5)
    assert ((await the(world)).status.active, len(await world.names(core.Pod))) == (2, 2)
    await world.passes(21)
    status = (await the(world)).status
    assert (status.succeeded, status.active, len(await world.names(core.Pod))) == (4, 1, 5)
    await world.passes(10)
    job = await the(world)
    assert conditions(job) == DONE
    assert (job.status.succeeded, job.status.active, job.status.ready) == (5, None, 0)
    assert job.status.start_time is not None
    assert job.status.completion_time is not None
    assert (job.status.completion_time - job.status.start_time).total_seconds() == 30
    assert {tuple(pod.metadata.finalizers) for pod in await world.all(core.Pod)} == {()}


@pytest.mark.promise(
    "The embedded cluster",
    "A Job finishes when enough pods have succeeded or too many have failed; each pod counts once.",
)
async def test_retries_failed_pods_with_backoff_up_to_the_limit(world: World) -> None:
    await world.client.create(a_job(image="bad", backoff_limit=3))
    seen = []
    for _ in range(12):
        await world.passes(10)
        seen.append((await the(world)).status.failed or 0)
    # It fails at 1 s, and after waits of 10, 20 and 40 s; each run takes a second.
    assert seen == [1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4]
    job = await the(world)
    assert conditions(job) == {
        "FailureTarget": ("True", "BackoffLimitExceeded"),
        "Failed": ("True", "BackoffLimitExceeded"),
    }
    assert await world.events("BackoffLimitExceeded") == ["Job has reached the specified backoff limit"]


async def test_counts_restarts_in_place(world: World) -> None:
    await world.client.create(a_job(image="crash", restart="OnFailure", backoff_limit=2))
    await world.passes(300)
    job = await the(world)
    assert conditions(job)["Failed"] == ("True", "BackoffLimitExceeded")
    assert await world.names(core.Pod) == []


async def test_completes_each_index_once(world: World) -> None:
    await world.client.create(a_job(completions=3, parallelism=2, completion_mode="Indexed"))
    await world.passes(11)
    job = await the(world)
    assert job.status.completed_indexes == "0,1"
    await world.passes(11)
    job = await the(world)
    assert (job.status.completed_indexes, conditions(job)) == ("0-2", DONE)
    pods = await world.all(core.Pod)
    assert sorted(pod.spec.hostname or "" for pod in pods) == ["work-0", "work-1", "work-2"]
    variables = pods[0].spec.containers[0].env or []
    assert [variable.name for variable in variables] == ["JOB_COMPLETION_INDEX"]


async def test_retries_failed_index(world: World) -> None:
    world.plans.by_image["job:1"] = PodPlan(exit_after=1, exit_code=1)
    await world.client.create(a_job(completions=1, completion_mode="Indexed"))
    await world.passes(3)
    world.plans.by_image["job:1"] = PodPlan(exit_after=1)
    await world.passes(30)
    job = await the(world)
    assert (job.status.completed_indexes, job.status.failed) == ("0", 1)
    assert conditions(job) == DONE


async def test_deadline_fails_the_job_and_stops_its_pods(world: World) -> None:
    await world.client.create(a_job(image="nginx", active_deadline_seconds=60))
    await world.passes(30)
    assert (await the(world)).status.active == 1
    await world.passes(60)
    job = await the(world)
    assert conditions(job)["Failed"] == ("True", "DeadlineExceeded")
    assert (job.status.active, job.status.failed) == (None, 1)
    assert await world.names(core.Pod) == []


async def test_suspends_and_resumes_a_job(world: World) -> None:
    await world.client.create(a_job())
    await world.passes(3)

    def put_suspended(value: bool) -> Any:
        def change(job: batch.Job) -> None:
            job.spec.suspend = value

        return change

    await world.change(batch.Job, "work", put_suspended(True))
    await world.passes(40)
    job = await the(world)
    assert conditions(job) == {"Suspended": ("True", "JobSuspended")}
    assert (job.status.active, job.status.failed, job.status.start_time) == (None, None, None)
    assert await world.names(core.Pod) == []
    await world.change(batch.Job, "work", put_suspended(False))
    await world.passes(15)
    assert conditions(await the(world)) == {"Suspended": ("False", "JobResumed"), **DONE}


@pytest.mark.promise(
    "The embedded cluster",
    "A Job finishes when enough pods have succeeded or too many have failed; each pod counts once.",
)
async def test_reduced_parallelism_is_not_a_failure(world: World) -> None:
    await world.client.create(a_job(image="nginx", completions=4, parallelism=3))
    await world.passes(3)

    def slow_down(job: batch.Job) -> None:
        job.spec.parallelism = 1

    await world.change(batch.Job, "work", slow_down)
    await world.passes(40)
    status = (await the(world)).status
    assert (status.active, status.failed) == (1, None)
    assert len(await world.names(core.Pod)) == 1


async def test_deletes_finished_job_after_ttl(world: World) -> None:
    await world.client.create(a_job(ttl_seconds_after_finished=60))
    await world.passes(30)
    assert await world.names(batch.Job) == ["work"]
    await world.passes(120)
    assert await world.names(batch.Job) == []
    assert await world.names(core.Pod) == []


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
async def test_deletes_pods_with_the_job(world: World, policy: Any) -> None:
    await world.client.create(a_job(image="nginx"))
    await world.passes(3)
    await world.client.delete(batch.Job, "work", propagation=policy)
    await world.passes(40)
    assert await world.names(batch.Job) == await world.names(core.Pod) == []
