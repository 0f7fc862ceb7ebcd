"""Writes the second child only if the first one was missing."""

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


@broken.reconciles(Site, owns=[core.ConfigMap])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Takes the first child as a sign that everything exists."""
    if ctx.get(core.ConfigMap, f"{site.metadata.name}-main") is None:
        await ctx.create(config(site, "main"))
        await ctx.create(config(site, "more"))
    await ctx.set_status(SiteStatus(ready=True))


@correct.reconciles(Site, owns=[core.ConfigMap])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Applies both."""
    await ctx.apply(config(site, "main"))
    await ctx.apply(config(site, "more"))
    await ctx.set_status(SiteStatus(ready=True))
