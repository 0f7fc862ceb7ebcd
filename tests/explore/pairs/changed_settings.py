"""Reads a ConfigMap of the user, and does not notice when it changes."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    settings: str = ""


class SiteStatus(kw.Model):
    """The observed state."""

    color: str = ""
    conditions: list[meta.Condition] | None = None


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def config(site: Site, suffix: str = "config", **data: str) -> core.ConfigMap:
    """Returns a ConfigMap of a site."""
    metadata = meta.ObjectMeta(name=f"{site.metadata.name}-{suffix}", namespace=site.metadata.namespace)
    return core.ConfigMap(metadata=metadata, data=data)


def users(settings: core.ConfigMap, reader: kw.Reader) -> list[kw.ObjectKey]:
    """Returns the sites that use a ConfigMap."""
    sites = reader.list(Site, settings.metadata.namespace)
    return [kw.ObjectKey.of(site) for site in sites if site.spec.settings == settings.metadata.name]


async def sync(site: Site, ctx: kw.Context[Site]) -> None:
    """Copies the color. Without settings, it keeps the last ones and says why."""
    settings = ctx.get(core.ConfigMap, site.spec.settings) if site.spec.settings else None
    if settings is None:
        ctx.set_condition("Ready", False, "NoSettings", f"there is no ConfigMap {site.spec.settings}")
        return
    color = (settings.data or {}).get("color", "")
    await ctx.apply(config(site, color=color))
    ctx.set_condition("Ready", True, "Configured")
    await ctx.patch_status(color=color)


broken.reconciles(Site, owns=[core.ConfigMap])(sync)
correct.reconciles(Site, owns=[core.ConfigMap], watches=[kw.Watch(core.ConfigMap, map=users)])(sync)
