"""Deletes a ConfigMap, but declares only that it creates and changes it."""

from __future__ import annotations

import contextlib

import kubewright as kw
from kubewright.api import core, meta
from kubewright.client import NotFound


class SiteSpec(kw.Model):
    """The desired state."""

    message: str = ""


class SiteStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def config(site: Site, suffix: str = "config", **data: str) -> core.ConfigMap:
    """Returns a ConfigMap of a site."""
    metadata = meta.ObjectMeta(name=f"{site.metadata.name}-{suffix}", namespace=site.metadata.namespace)
    return core.ConfigMap(metadata=metadata, data=data)


async def sync(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes the configuration of an empty message."""
    name = f"{site.metadata.name}-config"
    if site.spec.message:
        await ctx.client.apply(config(site, message=site.spec.message), field_manager="site-operator")
    else:
        with contextlib.suppress(NotFound):
            await ctx.client.delete(core.ConfigMap, name, site.metadata.namespace)


async def clean_up(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes the configuration."""
    name = f"{site.metadata.name}-config"
    with contextlib.suppress(NotFound):
        await ctx.client.delete(core.ConfigMap, name, site.metadata.namespace)


for operator in (broken, correct):
    operator.reconciles(Site)(sync)
    operator.finalizes(Site)(clean_up)
broken.needs(core.ConfigMap, verbs=["create", "patch"])
correct.needs(core.ConfigMap, verbs=["create", "patch", "delete"])
