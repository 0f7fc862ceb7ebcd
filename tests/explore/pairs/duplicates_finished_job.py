"""Deletes a Job that is done before the status says so, so that a crash runs it again."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import batch, core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    version: str = "1"


class SiteStatus(kw.Model):
    """The observed state."""

    migrated: str = ""


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def migration(site: Site) -> batch.Job:
    """Returns the migration of a site."""
    main = core.Container(name="main", image=f"migration:{site.spec.version or 'none'}")
    template = core.PodTemplateSpec(spec=core.PodSpec(restart_policy="Never", containers=[main]))
    metadata = meta.ObjectMeta(name=f"{site.metadata.name}-migration")
    return batch.Job(metadata=metadata, spec=batch.JobSpec(template=template))


def is_done(job: batch.Job) -> bool:
    """Returns whether the Job has succeeded."""
    return bool(job.status.succeeded)


@broken.reconciles(Site, owns=[batch.Job])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes the Job, and notes it afterwards."""
    job = ctx.get(batch.Job, f"{site.metadata.name}-migration")
    if site.status.migrated == site.spec.version:
        return
    if job is None:
        await ctx.create(migration(site))
    elif is_done(job):
        await ctx.delete(job, propagation="Background")
        await ctx.set_status(SiteStatus(migrated=site.spec.version))


@correct.reconciles(Site, owns=[batch.Job])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Notes that the Job is done, and deletes it afterwards."""
    job = ctx.get(batch.Job, f"{site.metadata.name}-migration")
    is_noted = site.status.migrated == site.spec.version
    if job is None:
        if not is_noted:
            await ctx.create(migration(site))
    elif job.metadata.deletion_timestamp is None and (is_noted or is_done(job)):
        await ctx.set_status(SiteStatus(migrated=site.spec.version))
        await ctx.delete(job, propagation="Background")
