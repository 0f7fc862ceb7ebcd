"""A new leader, whose cache lags behind, creates a second address."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    purpose: str = "web"


class SiteStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def address(site: Site) -> core.ConfigMap:
    """Returns the address of a site, without a name."""
    return core.ConfigMap(
        metadata=meta.ObjectMeta(labels={"site": site.metadata.name}), data={"for": site.spec.purpose}
    )


async def change(site: Site, ctx: kw.Context[Site], found: core.ConfigMap) -> None:
    """Updates the purpose."""
    if found.data != {"for": site.spec.purpose}:
        found.data = {"for": site.spec.purpose}
        await ctx.update(found)


@broken.reconciles(Site, owns=[core.ConfigMap])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Takes an address that is not in the cache for one that does not exist."""
    mine = ctx.owned(core.ConfigMap)
    if mine:
        await change(site, ctx, mine[0])
        return
    made = address(site)
    made.metadata.generate_name = f"{site.metadata.name}-"
    await ctx.create(made)


@correct.reconciles(Site, owns=[core.ConfigMap])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Names the address after the site."""
    made = address(site)
    made.metadata.name = f"{site.metadata.name}-address"
    await ctx.apply(made)
