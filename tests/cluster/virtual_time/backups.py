"""An operator as a new user writes it: plain functions, a schedule, webhooks, a bucket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Protocol

import kubewright as kw
from kubewright.api import Time, batch, core, meta


class Bucket(Protocol):
    """Where the backups are kept."""

    def put(self, name: str) -> None: ...


class BackupSpec(kw.Model):
    every_minutes: int = 0
    database: str = ""


class BackupStatus(kw.Model):
    runs: int = 0
    last: Time | None = None


@kw.resource("backups.example.com/v1")
class BackupSchedule(kw.Resource[BackupSpec, BackupStatus]):
    """Runs a Job every so many minutes, and notes each in the bucket."""


operator = kw.Operator("backups")


@operator.provides
async def bucket() -> AsyncIterator[Bucket]:
    raise RuntimeError("there is no bucket in a test")
    yield  # pragma: no cover


@operator.defaults(BackupSchedule)
def fill_in(schedule: BackupSchedule) -> None:
    if not schedule.spec.every_minutes:
        schedule.spec.every_minutes = 60


@operator.validates(BackupSchedule)
class Rules:
    def validate_create(self, schedule: BackupSchedule) -> Iterator[kw.FieldError]:
        if not schedule.spec.database:
            yield kw.FieldError.required("spec.database")

    def validate_update(self, old: BackupSchedule, new: BackupSchedule) -> Iterator[kw.FieldError]:
        if old.spec.database != new.spec.database:
            yield kw.FieldError.forbidden("spec.database", "cannot be changed")


@operator.reconciles(BackupSchedule, owns=[batch.Job], timeout="10m")
def sync(schedule: BackupSchedule, ctx: kw.BlockingContext[BackupSchedule]) -> kw.Result:
    period, now = timedelta(minutes=schedule.spec.every_minutes), ctx.clock.now().replace(microsecond=0)
    status = schedule.status
    due = now if status.last is None else status.last + period
    if due <= now:
        name = f"{ctx.key.name}-{status.runs + 1}"
        container = core.Container(name="dump", image=schedule.spec.database)
        pod = core.PodTemplateSpec(spec=core.PodSpec(containers=[container], restart_policy="Never"))
        ctx.apply(batch.Job(metadata=meta.ObjectMeta(name=name), spec=batch.JobSpec(template=pod)))
        ctx.use(bucket).put(name)
        ctx.set_status(BackupStatus(runs=status.runs + 1, last=now))
        due = now + period
    return kw.Result(requeue_after=due - now)
