"""Creates a Job with a generated name, and records it afterwards."""

from __future__ import annotations

import contextlib

import kubewright as kw
from kubewright.api import batch, core, meta
from kubewright.client import AlreadyExists


class SiteSpec(kw.Model):
    """The desired state."""

    message: str = ""


class SiteStatus(kw.Model):
    """The observed state."""

    job: str = ""


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def job(site: Site, name: str = "") -> batch.Job:
    """Returns the Job of a site."""
    metadata = meta.ObjectMeta(name=name, namespace=site.metadata.namespace)
    if not name:
        metadata.generate_name = f"{site.metadata.name}-"
    pod = core.PodSpec(containers=[core.Container(name="main", image="busybox")], restart_policy="Never")
    return batch.Job(metadata=metadata, spec=batch.JobSpec(template=core.PodTemplateSpec(spec=pod)))


@broken.reconciles(Site, owns=[batch.Job])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Creates a second Job if it is killed before it records the first one."""
    if not site.status.job:
        made = await ctx.create(job(site))
        await ctx.set_status(SiteStatus(job=made.metadata.name))


@correct.reconciles(Site, owns=[batch.Job])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Derives the name."""
    name = f"{site.metadata.name}-backup"
    if ctx.get(batch.Job, name) is None:
        with contextlib.suppress(AlreadyExists):
            await ctx.create(job(site, name))
    await ctx.set_status(SiteStatus(job=name))
