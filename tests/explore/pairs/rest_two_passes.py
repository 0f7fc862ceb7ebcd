"""Writes its child in two passes at each resync."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta
from kubewright.client import MergePatch


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
@broken.reconciles(Site, owns=[core.ConfigMap], resync=300)
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Resets the child before it completes it."""
    made = await ctx.apply(config(site, message=""))
    patch = MergePatch({"data": {"message": site.spec.message}})
    await ctx.client.patch(core.ConfigMap, made.metadata.name, patch, made.metadata.namespace)


@correct.reconciles(Site, owns=[core.ConfigMap], resync=300)
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Applies the complete child."""
    await ctx.apply(config(site, message=site.spec.message))
