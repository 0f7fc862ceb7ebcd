"""A new leader does not know what the former one kept in memory."""

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


NAMES: dict[str, str] = {}


@broken.reconciles(Site, owns=[core.ConfigMap])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Remembers in the process which address belongs to a site."""
    name = NAMES.get(site.metadata.uid or "")
    if name is None:
        made = address(site)
        made.metadata.generate_name = f"{site.metadata.name}-"
        NAMES[site.metadata.uid or ""] = (await ctx.create(made)).metadata.name
        return
    found = ctx.get(core.ConfigMap, name)
    if found is not None:
        await change(site, ctx, found)


@correct.reconciles(Site, owns=[core.ConfigMap])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Names the address after the site."""
    made = address(site)
    made.metadata.name = f"{site.metadata.name}-address"
    await ctx.apply(made)
