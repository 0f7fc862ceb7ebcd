"""Gives its child a new name at each reconcile."""

from __future__ import annotations

import itertools

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


_NUMBERS = itertools.count()


@broken.reconciles(Site, owns=[core.ConfigMap])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Replaces the child, which triggers the next reconcile."""
    wanted = await ctx.apply(config(site, f"part-{next(_NUMBERS)}", message=site.spec.message))
    for child in ctx.owned(core.ConfigMap):
        if child.metadata.name != wanted.metadata.name:
            await ctx.delete(child)


@correct.reconciles(Site, owns=[core.ConfigMap])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Keeps the name."""
    await ctx.apply(config(site, message=site.spec.message))
