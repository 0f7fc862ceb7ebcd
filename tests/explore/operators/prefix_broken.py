"""Deletes all children whose names begin with that of the deleted object."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    replicas: int = 1
    message: str | None = None
    labels: dict[str, str] | None = None


class SiteStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("explored.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


operator = kw.Operator("site-operator")


def config(site: Site, name: str = "") -> core.ConfigMap:
    """Returns the configuration of a site."""
    return core.ConfigMap(
        metadata=meta.ObjectMeta(name=name or f"{site.metadata.name}-config", namespace=site.metadata.namespace),
        data={"message": site.spec.message or "", **(site.spec.labels or {})},
    )


@operator.reconciles(Site, owns=[core.ConfigMap])
async def sync(site: Site, ctx: kw.Context[Site]) -> None:
    """Writes the configuration."""
    await ctx.apply(config(site))


@operator.finalizes(Site)
async def clean_up(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes the configuration."""
    for child in ctx.list(core.ConfigMap, site.metadata.namespace):
        if child.metadata.name.startswith(site.metadata.name):
            await ctx.delete(child)
