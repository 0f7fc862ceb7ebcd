"""Counts its reconciles in its child."""

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
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> kw.Result:
    """Changes the child each time it looks at it."""
    found = ctx.get(core.ConfigMap, f"{site.metadata.name}-config")
    count = int((found.data or {}).get("count", "0")) if found is not None else 0
    await ctx.apply(config(site, count=str(count + 1)))
    return kw.Result(requeue_after=1)


@correct.reconciles(Site, owns=[core.ConfigMap])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> kw.Result:
    """Writes what the spec says."""
    await ctx.apply(config(site, count=site.spec.message))
    return kw.Result(requeue_after=600)
