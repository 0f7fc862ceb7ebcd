"""CronJobs: create Jobs by a schedule."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Final
from zoneinfo import ZoneInfo

import kubewright as kw
from kubewright.api import batch, is_controlled_by, meta
from kubewright.client import AlreadyExists, ApiError, NotFound
from kubewright.cluster.machinery._cron_schedules import Schedule, schedule_problem
from kubewright.cluster.workloads._statuses import write_status
from kubewright.events import object_reference

__all__ = ["register"]

SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_MAX_MISSED_TIMES: Final = 100
_DELAY_SECONDS: Final = 0.1  # like the real controller, which looks slightly after the due time


def register(operator: kw.Operator) -> None:
    """Registers the controller of CronJobs."""
    operator.reconciles(batch.CronJob, owns=[batch.Job])(sync)


async def sync(cron_job: batch.CronJob, ctx: kw.Context[batch.CronJob]) -> kw.Result | None:
    """Records finished Jobs, starts one if it is due, and deletes the oldest finished ones."""
    return await Step(cron_job, ctx).run()


def _last_before(schedule: Schedule, now: datetime) -> datetime | None:
    """Returns the last due time up to now. Looks back in growing intervals, so that a year of minutes stays cheap."""
    back, due = timedelta(minutes=1), None
    while due is None or due > now:
        due = schedule.after(now - back)
        back *= 2
    while (following := schedule.after(due)) is not None and following <= now:
        due = following
    return due


def ending_of(job: batch.Job) -> str | None:
    """Returns how a Job finished, `Complete` or `Failed`; None if it has not."""
    conditions = job.status.conditions or ()
    return next(
        (each.type for each in conditions if each.type in ("Complete", "Failed") and each.status == "True"), None
    )


class Step:
    """One reconciliation of a CronJob."""

    def __init__(self, cron_job: batch.CronJob, ctx: kw.Context[batch.CronJob]) -> None:
        self.cron_job = cron_job
        self.ctx = ctx
        self.status = cron_job.status
        self.active = list(cron_job.status.active or ())
        self.jobs = [job for job in ctx.owned(batch.Job) if is_controlled_by(job, cron_job)]
        self.now = ctx.clock.now()

    async def run(self) -> kw.Result | None:
        """Performs all steps that are possible now. Returns when to reconcile again."""
        self._notice_endings()
        await self._clean_up()
        after = await self._schedule()
        self.status.active = self.active or None
        await write_status(self.ctx, self.status)
        return after

    # Finished Jobs

    def _notice_endings(self) -> None:
        known = {reference.uid for reference in self.active}
        for job in self.jobs:
            ending = ending_of(job)
            if ending is None and job.metadata.uid not in known:
                text = f"Saw a job that the controller did not create or forgot: {job.metadata.name}"
                self.ctx.record("UnexpectedJob", text, "Warning")
            elif ending is not None and job.metadata.uid in known:
                self._forget(job.metadata.uid)
                self.ctx.record("SawCompletedJob", f"Saw completed job: {job.metadata.name}, condition: {ending}")
            done = job.status.completion_time
            last = self.status.last_successful_time
            if ending == "Complete" and done is not None and (last is None or last < done):
                self.status.last_successful_time = done
        there = {job.metadata.uid for job in self.jobs}
        for reference in [each for each in self.active if each.uid not in there]:
            self._forget(reference.uid)
            self.ctx.record("MissingJob", f"Active job went missing: {reference.name}")

    def _forget(self, uid: str | None) -> None:
        self.active = [each for each in self.active if each.uid != uid]

    async def _clean_up(self) -> None:
        spec = self.cron_job.spec
        for ending, limit in (
            ("Complete", spec.successful_jobs_history_limit),
            ("Failed", spec.failed_jobs_history_limit),
        ):
            over = [job for job in self.jobs if ending_of(job) == ending]
            if limit is not None and len(over) > limit:
                over.sort(key=lambda job: (job.status.start_time or self.now, job.metadata.name))
                await self._delete(over[: len(over) - limit])

    async def _delete(self, jobs: Sequence[batch.Job]) -> None:
        for job in jobs:
            with contextlib.suppress(NotFound):
                await self.ctx.client.delete(job, propagation="Background")
            self.jobs = [each for each in self.jobs if each is not job]
            self._forget(job.metadata.uid)
            self.ctx.record("SuccessfulDelete", f"Deleted job {job.metadata.name}")

    # The next Job

    async def _schedule(self) -> kw.Result | None:
        spec = self.cron_job.spec
        if spec.suspend:
            return None
        try:
            zone = ZoneInfo(spec.time_zone) if spec.time_zone else None
        except (ValueError, KeyError, OSError):
            text = f'invalid timeZone: "{spec.time_zone}": unknown time zone {spec.time_zone}'
            self.ctx.record("UnknownTimeZone", text, "Warning")
            return None
        if problem := schedule_problem(spec.schedule):
            self.ctx.record("UnparseableSchedule", f'unparseable schedule: "{spec.schedule}" : {problem}', "Warning")
            return None
        schedule = Schedule(spec.schedule, zone)
        due = self._due(schedule)
        if due is not None and due != self.status.last_schedule_time:
            await self._start(due, zone)
        following = schedule.after(self.now)
        if following is None:
            return None
        return kw.Result(requeue_after=(following - self.now).total_seconds() + _DELAY_SECONDS)

    def _due(self, schedule: Schedule) -> datetime | None:
        """Returns the last due time without a Job; None if there is none."""
        made = self.cron_job.metadata.creation_timestamp
        assert made is not None
        earliest = self.status.last_schedule_time or made
        deadline = self.cron_job.spec.starting_deadline_seconds
        if deadline is not None:
            earliest = max(earliest, self.now - timedelta(seconds=deadline))
        due: datetime | None = None
        moment = schedule.after(earliest)
        for _ in range(_MAX_MISSED_TIMES):
            if moment is None or moment > self.now:
                return due
            due, moment = moment, schedule.after(moment)
        text = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        self.ctx.record("TooManyMissedTimes", text, "Warning")
        return _last_before(schedule, self.now)

    async def _start(self, due: datetime, zone: ZoneInfo | None) -> None:
        spec = self.cron_job.spec
        deadline = spec.starting_deadline_seconds
        if deadline is not None and due + timedelta(seconds=deadline) < self.now:
            moment = format_datetime(due.astimezone(UTC))
            self.ctx.record("MissSchedule", f"Missed scheduled time to start a job: {moment}", "Warning")
            return
        if spec.concurrency_policy == "Forbid" and self.active:
            text = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self.ctx.record("JobAlreadyActive", text)
            return
        if spec.concurrency_policy == "Replace":
            running = {reference.uid for reference in self.active}
            await self._delete([job for job in self.jobs if job.metadata.uid in running])
        try:
            made = await self.ctx.create(self._job(due, zone))
        except AlreadyExists:
            return
        except ApiError as error:
            self.ctx.record("FailedCreate", f"Error creating job: {error}", "Warning")
            raise
        self.ctx.record("SuccessfulCreate", f"Created job {made.metadata.name}")
        self.active.append(object_reference(made))
        self.status.last_schedule_time = due

    def _job(self, due: datetime, zone: ZoneInfo | None) -> batch.Job:
        template = copy.deepcopy(self.cron_job.spec.job_template)
        shown = due.astimezone(zone or UTC).isoformat().replace("+00:00", "Z")
        metadata = meta.ObjectMeta(
            name=f"{self.cron_job.metadata.name}-{int(due.timestamp()) // 60}",
            labels=dict(template.metadata.labels),
            annotations={**template.metadata.annotations, SCHEDULED: shown},
        )
        assert template.spec is not None
        return batch.Job(metadata=metadata, spec=template.spec)
