"""Derives the name of what it has created."""

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


@operator.needs(core.ConfigMap, verbs=["get", "create", "patch", "delete"])
@operator.reconciles(Site)
async def sync(site: Site, ctx: kw.Context[Site]) -> None:
    """Writes a copy of the configuration to kube-public."""
    child = config(site, f"{site.metadata.namespace}-{site.metadata.name}")
    child.metadata.namespace = "kube-public"
    await ctx.apply(child, owned=False)


@operator.finalizes(Site)
async def clean_up(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes the copy."""
    await ctx.delete(core.ConfigMap, f"{site.metadata.namespace}-{site.metadata.name}", "kube-public")
