"""Moves through phases, and reports a condition together with the last one."""

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

    phase: str = ""
    conditions: list[meta.Condition] | None = None


@kw.resource("explored.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


operator = kw.Operator("site-operator")


@operator.reconciles(Site, owns=[core.ConfigMap])
async def sync(site: Site, ctx: kw.Context[Site]) -> kw.Result | None:
    """Writes the configuration."""
    if not site.status.phase:
        await ctx.patch_status(phase="Creating")
        return kw.Result(requeue=True)
    name = meta.ObjectMeta(name=f"{site.metadata.name}-config")
    await ctx.apply(core.ConfigMap(metadata=name, data={"message": site.spec.message or ""}))
    ctx.set_condition("Ready", "True", reason="Written", message="the configuration is written")
    await ctx.patch_status(phase="Ready")
    return None
