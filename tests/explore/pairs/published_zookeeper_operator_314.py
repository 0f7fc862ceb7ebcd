"""Deletes volumes by the size that it has seen, not by the current one.

After zookeeper-operator #314: a stale size, seen before a scale-down was reverted, removes volumes that are in use.
"""

from __future__ import annotations

from typing import Annotated

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    replicas: Annotated[int, kw.Range(1, 3)] = 1


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


_SMALLEST: dict[str, int] = {}


async def volumes(site: Site, ctx: kw.Context[Site], size: int) -> None:
    """Creates the volumes, and deletes those from this number on."""
    for number in range(site.spec.replicas):
        await ctx.apply(claim(site, number))
    for found in ctx.owned(core.PersistentVolumeClaim):
        if int(found.metadata.name.rpartition("-")[2]) >= size:
            await ctx.delete(found)


@broken.reconciles(Site, owns=[core.PersistentVolumeClaim], resync=1200)
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Remembers a size that is no longer wanted."""
    size = min(site.spec.replicas, _SMALLEST.get(site.metadata.uid, site.spec.replicas))
    _SMALLEST[site.metadata.uid] = size
    await volumes(site, ctx, size)


@correct.reconciles(Site, owns=[core.PersistentVolumeClaim], resync=1200)
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Uses the current size."""
    await volumes(site, ctx, site.spec.replicas)
