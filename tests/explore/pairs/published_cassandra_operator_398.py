"""Deletes a volume only while it sees the deletion of the member.

After instaclustr cassandra-operator #398: the operator looks for pods with a deletion timestamp. If it misses that
state, the volume stays.
"""

from __future__ import annotations

from typing import Annotated

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    replicas: Annotated[int, kw.Range(1, 5)] = 1


class SiteStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def claim(site: Site, number: int) -> core.PersistentVolumeClaim:
    """Returns the volume of a member."""
    labels = {"site": site.metadata.name, "uid": site.metadata.uid}
    name = f"data-{site.metadata.name}-{number}"
    return core.PersistentVolumeClaim(
        metadata=meta.ObjectMeta(name=name, namespace=site.metadata.namespace, labels=labels),
        spec=core.PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce"],
            resources=core.VolumeResourceRequirements(requests={"storage": kw.Quantity("1Gi")}),
        ),
    )


def member(site: Site, number: int) -> core.ConfigMap:
    """Returns a member."""
    name = f"{site.metadata.name}-{number}"
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace=site.metadata.namespace))


async def members(site: Site, ctx: kw.Context[Site]) -> None:
    """Creates members with their volumes, and removes those beyond the size."""
    for number in range(site.spec.replicas):
        await ctx.apply(claim(site, number))
        await ctx.apply(member(site, number))
    for number in range(site.spec.replicas, 5):
        await ctx.delete(core.ConfigMap, f"{site.metadata.name}-{number}")


@broken.reconciles(Site, owns=[core.ConfigMap, core.PersistentVolumeClaim])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes the volumes of the members that it removes at this moment."""
    leaving = [found.metadata.name for found in ctx.owned(core.ConfigMap)]
    await members(site, ctx)
    for name in leaving:
        if ctx.get(core.ConfigMap, name) is None:
            await ctx.delete(core.PersistentVolumeClaim, f"data-{name}")


@correct.reconciles(Site, owns=[core.ConfigMap, core.PersistentVolumeClaim])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes every volume without a member."""
    await members(site, ctx)
    wanted = {f"data-{site.metadata.name}-{number}" for number in range(site.spec.replicas)}
    for found in ctx.owned(core.PersistentVolumeClaim):
        if found.metadata.name not in wanted:
            await ctx.delete(found)
