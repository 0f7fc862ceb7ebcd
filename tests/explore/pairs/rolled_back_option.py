"""Does not remove what an option added."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    message: str = ""
    extra: bool | None = None


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
    """Leaves the extra configuration when the option is unset."""
    await ctx.apply(config(site, message=site.spec.message))
    if site.spec.extra:
        await ctx.apply(config(site, "extra"))


@correct.reconciles(Site, owns=[core.ConfigMap])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes the extra configuration when the option is unset."""
    await ctx.apply(config(site, message=site.spec.message))
    if site.spec.extra:
        await ctx.apply(config(site, "extra"))
    else:
        await ctx.delete(core.ConfigMap, f"{site.metadata.name}-extra")
