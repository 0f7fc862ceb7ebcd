"""Creates a child with a generated name, and remembers it only in the status."""

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
    if not site.status.child:
        wanted = config(site)
        wanted.metadata.generate_name, wanted.metadata.name = f"{site.metadata.name}-", ""
        made = await ctx.create(wanted)
        await ctx.set_status(SiteStatus(ready=True, child=made.metadata.name))
        return
    child = ctx.get(core.ConfigMap, site.status.child)
    if child is None:
        await ctx.set_status(SiteStatus())
        raise kw.RetryLater("the configuration is gone", after=1)
    child.data = config(site).data
    await ctx.update(child)
