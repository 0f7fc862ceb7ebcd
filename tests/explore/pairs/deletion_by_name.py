"""Deletes every ConfigMap whose name begins like that of the site."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    message: str = ""


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


@broken.needs(core.ConfigMap, verbs=["get", "list", "watch", "create", "patch", "delete"])
@broken.reconciles(Site, reads=[core.ConfigMap])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes ConfigMaps of users, too."""
    wanted = await ctx.apply(config(site, message=site.spec.message))
    for found in ctx.list(core.ConfigMap, site.metadata.namespace):
        if found.metadata.name.startswith(f"{site.metadata.name}-") and found.metadata.name != wanted.metadata.name:
            await ctx.delete(found)


@correct.reconciles(Site, owns=[core.ConfigMap])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes only its own ConfigMaps."""
    wanted = await ctx.apply(config(site, message=site.spec.message))
    for found in ctx.owned(core.ConfigMap):
        if found.metadata.name != wanted.metadata.name:
            await ctx.delete(found)
