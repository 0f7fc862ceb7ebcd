"""CronJobs in the embedded cluster, in virtual time that starts at midnight."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api import batch, core, meta
from kubewright.cluster.nodes import PodPlan
from tests.cluster.workloads.conftest import Plans, World, a_job


@pytest.fixture
def plans() -> Plans:
    made = Plans()
    made.by_image = {
        "short": PodPlan(exit_after=5),
        "long": PodPlan(exit_after=90),
        "bad": PodPlan(exit_after=1, exit_code=1),
    }
    return made


def a_cron_job(schedule: str = "* * * * *", image: str = "short", **spec: Any) -> batch.CronJob:
    job = a_job(image=image, backoff_limit=0)
    labels = meta.ObjectMeta(labels={"made": "regularly"}, annotations={"note": "x"})
    template = batch.JobTemplateSpec(metadata=labels, spec=job.spec)
    made = batch.CronJobSpec(schedule=schedule, job_template=template, **spec)
    return batch.CronJob(metadata=meta.ObjectMeta(name="tick"), spec=made)


async def the(world: World) -> batch.CronJob:
    return await world.get(batch.CronJob, "tick")


@pytest.mark.promise(
    "The embedded cluster",
    "A CronJob creates a Job at each due time in its time zone, and keeps the configured number of finished Jobs.",
)
async def test_creates_a_job_when_due(world: World) -> None:
    await world.client.create(a_cron_job("*/2 * * * *"))
    await world.passes(100)
    assert await world.names(batch.Job) == []
    await world.passes(21)
    (job,) = await world.all(batch.Job)
    minutes = int(world.clock.now().timestamp()) // 60
    assert job.metadata.name == f"tick-{minutes}"
    assert job.metadata.labels == {"made": "regularly"}
    assert job.metadata.annotations["note"] == "x"
    assert job.metadata.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"] == "2030-01-01T00:02:00Z"
    (owner,) = job.metadata.owner_references
    assert (owner.kind, owner.name, owner.controller) == ("CronJob", "tick", True)
    status = (await the(world)).status
    assert [reference.uid for reference in status.active or ()] == [job.metadata.uid]
    assert status.last_schedule_time == world.clock.now().replace(second=0, microsecond=0)


async def test_records_finished_job(world: World) -> None:
    await world.client.create(a_cron_job("5 0 * * *"))
    await world.passes(330)
    (job,) = await world.all(batch.Job)
    status = (await the(world)).status
    assert (status.active, status.last_successful_time) == (None, job.status.completion_time)
    assert await world.events("SuccessfulCreate") == sorted(
        [f"Created job {job.metadata.name}", f"Created pod: {(await world.names(core.Pod))[0]}"]
    )
    assert await world.events("SawCompletedJob") == [f"Saw completed job: {job.metadata.name}, condition: Complete"]


@pytest.mark.promise(
    "The embedded cluster",
    "A CronJob creates a Job at each due time in its time zone, and keeps the configured number of finished Jobs.",
)
async def test_keeps_the_last_successful_jobs(world: World) -> None:
    await world.client.create(a_cron_job(successful_jobs_history_limit=1))
    await world.passes(60 * 3 + 30)
    assert len(await world.names(batch.Job)) == 1
    assert len(await world.events("SuccessfulDelete")) == 2


async def test_failed_jobs_have_their_own_history_limit(world: World) -> None:
    await world.client.create(a_cron_job(image="bad", failed_jobs_history_limit=1))
    await world.passes(60 * 2 + 30)
    assert len(await world.names(batch.Job)) == 1
    assert (await the(world)).status.last_successful_time is None


@pytest.mark.promise(
    "The embedded cluster",
    "A CronJob creates a Job at each due time in its time zone, and keeps the configured number of finished Jobs.",
)
@pytest.mark.parametrize(("policy", "running"), [("Allow", 2), ("Forbid", 1), ("Replace", 1)])
async def test_concurrency_policies(world: World, policy: str, running: int) -> None:
    await world.client.create(a_cron_job(image="long", concurrency_policy=policy))
    await world.passes(60 * 2 + 20)
    assert len((await the(world)).status.active or ()) == running
    last = max(await world.names(batch.Job))
    due = int(world.clock.now().timestamp()) // 60
    assert last == f"tick-{due - 1 if policy == 'Forbid' else due}"
    events = await world.events("JobAlreadyActive")
    assert bool(events) == (policy == "Forbid")


async def test_suspended_cron_job_waits(world: World) -> None:
    await world.client.create(a_cron_job(suspend=True, starting_deadline_seconds=30))
    await world.passes(600)
    assert await world.names(batch.Job) == []

    def go_on(cron_job: batch.CronJob) -> None:
        cron_job.spec.suspend = False

    await world.change(batch.CronJob, "tick", go_on)
    await world.passes(1)
    assert len(await world.names(batch.Job)) == 1  # it was due just now
    await world.passes(60)
    assert len(await world.names(batch.Job)) == 2


async def test_skips_runs_past_the_starting_deadline(world: World) -> None:
    await world.client.create(a_cron_job("0 * * * *", suspend=True, starting_deadline_seconds=60))
    await world.passes(3600 + 300)

    def go_on(cron_job: batch.CronJob) -> None:
        cron_job.spec.suspend = False

    await world.change(batch.CronJob, "tick", go_on)
    await world.passes(60)
    assert await world.names(batch.Job) == []


async def test_reports_many_missed_runs_and_starts_the_last(world: World) -> None:
    await world.client.create(a_cron_job("@every 1s", suspend=True))
    await world.passes(150)

    def go_on(cron_job: batch.CronJob) -> None:
        cron_job.spec.suspend = False

    await world.change(batch.CronJob, "tick", go_on)
    await world.passes(0.5)
    assert len(await world.names(batch.Job)) == 1
    assert len(await world.events("TooManyMissedTimes")) == 1


@pytest.mark.promise(
    "The embedded cluster",
    "A CronJob creates a Job at each due time in its time zone, and keeps the configured number of finished Jobs.",
)
async def test_uses_the_time_zone(world: World) -> None:
    await world.client.create(a_cron_job("30 9 * * *", time_zone="Asia/Tokyo"))  # half past midnight in UTC
    await world.passes(1801)
    (job,) = await world.all(batch.Job)
    stamp = job.metadata.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"]
    assert stamp == "2030-01-01T09:30:00+09:00"


async def test_new_schedule_applies_immediately(world: World) -> None:
    await world.client.create(a_cron_job("0 12 * * *"))
    await world.passes(60)

    def often(cron_job: batch.CronJob) -> None:
        cron_job.spec.schedule = "*/3 * * * *"

    await world.change(batch.CronJob, "tick", often)
    await world.passes(121)
    assert len(await world.names(batch.Job)) == 1


async def test_deletes_jobs_with_the_cron_job(world: World) -> None:
    await world.client.create(a_cron_job(image="long"))
    await world.passes(65)
    await world.client.delete(batch.CronJob, "tick")
    await world.passes(60)
    assert await world.names(batch.Job) == await world.names(core.Pod) == []
