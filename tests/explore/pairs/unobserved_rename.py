"""Remembers in memory which child to delete after a change of the name."""

from __future__ import annotations

from typing import Annotated

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    message: Annotated[str, kw.Length(minimum=1), kw.Pattern("[a-z0-9-]+")] = "one"


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


_BEFORE: dict[str, str] = {}


@broken.reconciles(Site, owns=[core.ConfigMap])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Forgets the earlier name when it is restarted."""
    before = _BEFORE.get(site.metadata.uid, site.spec.message)
    if before != site.spec.message:
        await ctx.delete(core.ConfigMap, f"{site.metadata.name}-{before}")
    await ctx.apply(config(site, site.spec.message))
    _BEFORE[site.metadata.uid] = site.spec.message


@correct.reconciles(Site, owns=[core.ConfigMap])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes every child that is not wanted."""
    wanted = await ctx.apply(config(site, site.spec.message))
    for child in ctx.owned(core.ConfigMap):
        if child.metadata.name != wanted.metadata.name:
            await ctx.delete(child)
