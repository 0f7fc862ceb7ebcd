"""Expects at least one host."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    hosts: list[str]


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
    """Fails for an empty list."""
    await ctx.apply(config(site, first=site.spec.hosts[0]))


@correct.reconciles(Site, owns=[core.ConfigMap])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Handles an empty list."""
    await ctx.apply(config(site, first=site.spec.hosts[0] if site.spec.hosts else ""))
