"""Deletes its copy of an object that it may not read for some minutes."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    source: str = ""
    note: str = ""


class SiteStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def copy_of(site: Site, source: core.ConfigMap) -> core.ConfigMap:
    """Returns the copy of the source."""
    metadata = meta.ObjectMeta(name=f"{site.metadata.name}-copy")
    return core.ConfigMap(metadata=metadata, data={**(source.data or {}), "note": site.spec.note})


@broken.needs(core.ConfigMap, verbs=["get"])
@broken.reconciles(Site, owns=[core.ConfigMap], resync="10m")
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Takes every error for a source that does not exist."""
    try:
        source = await ctx.client.get(core.ConfigMap, site.spec.source, "kube-public")
    except kw.ApiError:
        await ctx.delete(core.ConfigMap, f"{site.metadata.name}-copy")
        return
    await ctx.apply(copy_of(site, source))


@correct.needs(core.ConfigMap, verbs=["get"])
@correct.reconciles(Site, owns=[core.ConfigMap], resync="10m")
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes the copy only if the source does not exist."""
    source = await ctx.client.find(core.ConfigMap, site.spec.source, "kube-public")
    if source is None:
        await ctx.delete(core.ConfigMap, f"{site.metadata.name}-copy")
        return
    await ctx.apply(copy_of(site, source))
