"""Creates a child with a generated name, and finds it by its owner."""

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
    child: str = ""


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
    """Creates the configuration once."""
    page = await ctx.client.list(core.ConfigMap, site.metadata.namespace)
    owned = [each for each in page if any(owner.uid == site.metadata.uid for owner in each.metadata.owner_references)]
    if not owned:
        wanted = config(site)
        wanted.metadata.generate_name, wanted.metadata.name = f"{site.metadata.name}-", ""
        owned = [await ctx.create(wanted)]
    child = owned[0]
    if child.data != config(site).data:
        child.data = config(site).data
        await ctx.update(child)
    await ctx.set_status(SiteStatus(ready=True, child=child.metadata.name))
