"""Replaces all annotations of its child."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta
from kubewright.client import JsonPatch


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


@broken.needs(core.ConfigMap, verbs=["patch"])
@broken.reconciles(Site, owns=[core.ConfigMap])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Removes annotations of other clients."""
    child = await ctx.apply(config(site))
    wanted = {"message": site.spec.message}
    if child.metadata.annotations != wanted:
        patch = [{"op": "add", "path": "/metadata/annotations", "value": wanted}]
        await ctx.client.patch(core.ConfigMap, child.metadata.name, JsonPatch(patch), child.metadata.namespace)


@correct.reconciles(Site, owns=[core.ConfigMap])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Sets its own annotation."""
    child = config(site)
    child.metadata.annotations = {"message": site.spec.message}
    await ctx.apply(child)
