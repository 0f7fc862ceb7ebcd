"""Deletes the data of members whose pod is not in the cache."""

from __future__ import annotations

import contextlib

import kubewright as kw
from kubewright.api import core, meta, owner_reference
from kubewright.client import AlreadyExists


class SiteSpec(kw.Model):
    """The desired state."""

    replicas: int = 1


class SiteStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def config(site: Site, suffix: str = "config", **data: str) -> core.ConfigMap:
    """Returns a ConfigMap of a site."""
    metadata = meta.ObjectMeta(name=f"{site.metadata.name}-{suffix}", namespace=site.metadata.namespace)
    return core.ConfigMap(metadata=metadata, data=data)


def member(site: Site, number: int) -> core.Pod:
    """Returns a member."""
    metadata = meta.ObjectMeta(name=f"{site.metadata.name}-{number}", namespace=site.metadata.namespace)
    return core.Pod(metadata=metadata, spec=core.PodSpec(containers=[core.Container(name="main", image="nginx")]))


async def make(site: Site, ctx: kw.Context[Site]) -> None:
    """Creates members and their data."""
    for number in range(site.spec.replicas):
        await ctx.apply(config(site, f"data-{number}"))
        if ctx.get(core.Pod, f"{site.metadata.name}-{number}") is None:
            with contextlib.suppress(AlreadyExists):
                await ctx.client.create(owned(member(site, number), site))


def owned(pod: core.Pod, site: Site) -> core.Pod:
    """Returns the pod with its owner."""
    pod.metadata.owner_references = [owner_reference(site)]
    return pod


@broken.needs(core.Pod, verbs=["create", "delete"])
@broken.reconciles(Site, owns=[core.ConfigMap, core.Pod])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Takes a pod that is not in the cache for a pod that does not exist."""
    await make(site, ctx)
    for data in ctx.owned(core.ConfigMap):
        number = data.metadata.name.rpartition("-")[2]
        if ctx.get(core.Pod, f"{site.metadata.name}-{number}") is None:
            await ctx.delete(data)


@correct.needs(core.Pod, verbs=["create", "delete"])
@correct.reconciles(Site, owns=[core.ConfigMap, core.Pod])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes the members and data beyond the size."""
    await make(site, ctx)
    for data in ctx.owned(core.ConfigMap):
        number = data.metadata.name.rpartition("-")[2]
        if int(number) >= site.spec.replicas:
            await ctx.delete(core.Pod, f"{site.metadata.name}-{number}")
            await ctx.delete(data)
