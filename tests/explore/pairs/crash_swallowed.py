"""Ignores the failure of a write."""

from __future__ import annotations

import contextlib

import kubewright as kw
from kubewright.api import core, meta
from kubewright.client import ApiError


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
    """Reports success although a write failed."""
    with contextlib.suppress(ApiError):
        await ctx.apply(config(site, message=site.spec.message))
    await ctx.set_status(SiteStatus(ready=True))


@correct.reconciles(Site, owns=[core.ConfigMap])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Lets the failure be retried."""
    await ctx.apply(config(site, message=site.spec.message))
    await ctx.set_status(SiteStatus(ready=True))
