"""Parses a quantity itself, and not in every spelling."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    memory: kw.Quantity = kw.Quantity("64Mi")
    policy: str = "lru"


class SiteStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def config(site: Site, size: int) -> core.ConfigMap:
    """Returns the configuration with a size in bytes."""
    data = {"bytes": str(size), "policy": site.spec.policy}
    return core.ConfigMap(metadata=meta.ObjectMeta(name=f"{site.metadata.name}-cache"), data=data)


@broken.reconciles(Site, owns=[core.ConfigMap])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Knows one spelling of quantities."""
    await ctx.apply(config(site, int(str(site.spec.memory).removesuffix("Mi")) << 20))


@correct.reconciles(Site, owns=[core.ConfigMap])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Computes the bytes of every quantity."""
    await ctx.apply(config(site, site.spec.memory.value()))
