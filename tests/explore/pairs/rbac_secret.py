"""Writes a Secret without declaring it."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta, owner_reference


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


def secret(site: Site) -> core.Secret:
    """Returns the Secret of a site."""
    metadata = meta.ObjectMeta(name=site.metadata.name, namespace=site.metadata.namespace)
    metadata.owner_references = [owner_reference(site)]
    return core.Secret(metadata=metadata, string_data={"message": site.spec.message})


@broken.reconciles(Site)
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Its generated role has no Secrets."""
    await ctx.client.apply(secret(site), field_manager="site-operator")


@correct.needs(core.Secret, verbs=["create", "patch"])
@correct.reconciles(Site)
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Declares Secrets."""
    await ctx.client.apply(secret(site), field_manager="site-operator")
