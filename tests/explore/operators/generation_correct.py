"""Sets observedGeneration after each change."""

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
    observed_generation: int = 0


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
    await ctx.set_status(SiteStatus(ready=True, observed_generation=site.metadata.generation or 0))
