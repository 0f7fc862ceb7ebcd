"""Reports the generation only when a child has changed."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    message: str = ""
    owner: str | None = None


class SiteStatus(kw.Model):
    """The observed state."""

    observed_generation: int | None = None


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
    """Forgets changes that do not affect the child."""
    await ctx.apply(config(site, message=site.spec.message))
    if ctx.changed:
        await ctx.set_status(SiteStatus(observed_generation=site.metadata.generation))


@correct.reconciles(Site, owns=[core.ConfigMap])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Always reports the generation."""
    await ctx.apply(config(site, message=site.spec.message))
    await ctx.set_status(SiteStatus(observed_generation=site.metadata.generation))
