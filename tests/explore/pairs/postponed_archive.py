"""Archives its object after a while, but a daemon sleeps from the start of the operator."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import kubewright as kw
from kubewright.api import core, meta


class ReportSpec(kw.Model):
    """The desired state."""

    minutes: Annotated[int, kw.Range(1, 60)] = 30


class ReportStatus(kw.Model):
    """The observed state."""

    phase: str = ""


@kw.resource("pairs.example.com/v1")
class Report(kw.Resource[ReportSpec, ReportStatus]):
    """A report."""


broken = kw.Operator("report-operator")
correct = kw.Operator("report-operator")


async def sync(report: Report, ctx: kw.Context[Report]) -> None:
    """Creates the text."""
    await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name=f"{report.metadata.name}-text")))
    if not report.status.phase:
        await ctx.patch_status(phase="Published")


for operator in (broken, correct):
    operator.reconciles(Report, owns=[core.ConfigMap])(sync)


@broken.daemon(Report)
async def archive_broken(report: Report, ctx: kw.Context[Report]) -> None:
    """Sleeps for the whole time."""
    await ctx.clock.sleep(60 * report.spec.minutes)
    await ctx.patch_status(phase="Archived")


@correct.every(Report, 300)
async def archive_correct(report: Report, ctx: kw.Context[Report]) -> None:
    """Looks at the age now and then."""
    created = report.metadata.creation_timestamp
    assert created is not None
    if report.status.phase != "Archived" and ctx.clock.now() >= created + timedelta(minutes=report.spec.minutes):
        await ctx.patch_status(phase="Archived")
