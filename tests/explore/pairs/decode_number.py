"""Reads numbers back as integers, although the schema allows fractions."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    weights: dict[str, float]


class SiteStatus(kw.Model):
    """The observed state."""

    total: str = ""


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def config(site: Site) -> core.ConfigMap:
    """Returns the weights as text."""
    data = {name: f"{weight:g}" for name, weight in site.spec.weights.items()}
    return core.ConfigMap(metadata=meta.ObjectMeta(name=f"{site.metadata.name}-weights"), data=data)


@broken.reconciles(Site, owns=[core.ConfigMap])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Cannot read back a weight with a fraction."""
    made = await ctx.apply(config(site))
    await ctx.patch_status(total=f"{sum(int(weight) for weight in (made.data or {}).values())}")


@correct.reconciles(Site, owns=[core.ConfigMap])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Reads back what it wrote."""
    made = await ctx.apply(config(site))
    await ctx.patch_status(total=f"{sum(float(weight) for weight in (made.data or {}).values()):g}")
