"""Removes its finalizer although the clean-up failed."""

from __future__ import annotations

import contextlib

import kubewright as kw
from kubewright.api import core, meta
from kubewright.client import ApiError


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


def shared(site: Site) -> core.ConfigMap:
    """Returns the child in another namespace, which no garbage collector deletes."""
    made = config(site, site.metadata.namespace, message=site.spec.message)
    made.metadata.namespace = "kube-public"
    return made


async def sync(site: Site, ctx: kw.Context[Site]) -> None:
    """Writes the child."""
    await ctx.apply(shared(site), owned=False)


for operator in (broken, correct):
    operator.needs(core.ConfigMap, verbs=["get", "create", "patch", "delete"])
    operator.reconciles(Site)(sync)


@broken.finalizes(Site)
async def clean_up_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Gives up when the deletion fails."""
    with contextlib.suppress(ApiError):
        await ctx.delete(shared(site))


@correct.finalizes(Site)
async def clean_up_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Is retried when the deletion fails."""
    await ctx.delete(shared(site))
