"""Refuses an unknown size in its status, and does not recover when the size is corrected."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta

SIZES = {"small": "1", "large": "9"}


class SiteSpec(kw.Model):
    """The desired state."""

    size: str


class SiteStatus(kw.Model):
    """The observed state."""

    phase: str = ""


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def config(site: Site, suffix: str = "config", **data: str) -> core.ConfigMap:
    """Returns a ConfigMap of a site."""
    metadata = meta.ObjectMeta(name=f"{site.metadata.name}-{suffix}", namespace=site.metadata.namespace)
    return core.ConfigMap(metadata=metadata, data=data)


@broken.reconciles(Site, owns=[core.ConfigMap])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Is ready only when it has written something."""
    if site.spec.size not in SIZES:
        await ctx.patch_status(phase="Refused")  # what was made for the last size stays
        return
    await ctx.apply(config(site, replicas=SIZES[site.spec.size]))
    if ctx.changed:
        await ctx.patch_status(phase="Ready")


@correct.reconciles(Site, owns=[core.ConfigMap])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Is ready when its child is there."""
    if site.spec.size not in SIZES:
        await ctx.patch_status(phase="Refused")  # what was made for the last size stays
        return
    await ctx.apply(config(site, replicas=SIZES[site.spec.size]))
    await ctx.patch_status(phase="Ready")
