"""Relies on its webhooks: a default that is missing, and a mode that is always known."""

from __future__ import annotations

from collections.abc import Iterator

import kubewright as kw
from kubewright.api import core, meta

SIZES = {"small": 1, "large": 5}


class SiteSpec(kw.Model):
    """The desired state."""

    message: str = ""
    mode: str = "small"
    replicas: int | None = None


class SiteStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("explored.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


operator = kw.Operator("site-operator")


@operator.defaults(Site)
def fill_in(site: Site) -> None:
    """Sets a size."""
    if site.spec.replicas is None:
        site.spec.replicas = SIZES.get(site.spec.mode, 1)


@operator.validates(Site)
def check(site: Site) -> Iterator[kw.FieldError]:
    """Rejects unknown modes."""
    if site.spec.mode not in SIZES:
        yield kw.FieldError.invalid("spec.mode", site.spec.mode, "must be small or large")


@operator.reconciles(Site, owns=[core.ConfigMap])
async def sync(site: Site, ctx: kw.Context[Site]) -> None:
    """Writes the numbers."""
    assert site.spec.replicas is not None
    data = {"size": str(SIZES[site.spec.mode]), "last": str(site.spec.replicas - 1), "message": site.spec.message}
    await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name=f"{site.metadata.name}-numbers"), data=data))
    await ctx.patch_status(ready=True)
