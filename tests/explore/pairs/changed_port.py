"""Creates its Service once, and never changes it."""

from __future__ import annotations

from typing import Annotated

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    port: Annotated[int, kw.Range(1, 65535)] = 80


class SiteStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def service(site: Site, port: int = 80) -> core.Service:
    """Returns the Service of a site."""
    return core.Service(
        metadata=meta.ObjectMeta(name=site.metadata.name, namespace=site.metadata.namespace),
        spec=core.ServiceSpec(selector={"site": site.metadata.name}, ports=[core.ServicePort(port=port)]),
    )


@broken.reconciles(Site, owns=[core.Service])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Takes an existing Service for a correct one."""
    if ctx.get(core.Service, site.metadata.name) is None:
        await ctx.apply(service(site, site.spec.port))
    await ctx.set_status(SiteStatus(ready=True))


@correct.reconciles(Site, owns=[core.Service])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Applies the Service."""
    await ctx.apply(service(site, site.spec.port))
    await ctx.set_status(SiteStatus(ready=True))
