"""Forgets the copies in namespaces that are no longer listed."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    message: str = ""
    namespaces: list[str] | None = None


class SiteStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def copy(site: Site, namespace: str) -> core.Secret:
    """Returns the copy in a namespace."""
    labels = {"site": f"{site.metadata.namespace}.{site.metadata.name}"}
    name = f"{site.metadata.namespace}-{site.metadata.name}"
    metadata = meta.ObjectMeta(name=name, namespace=namespace, labels=labels)
    return core.Secret(metadata=metadata, string_data={"message": site.spec.message})


VERBS = ["get", "list", "watch", "create", "patch", "delete"]


@broken.needs(core.Secret, verbs=VERBS)
@broken.reconciles(Site)
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Writes the copies."""
    for namespace in site.spec.namespaces or []:
        await ctx.apply(copy(site, namespace), owned=False)


@broken.finalizes(Site)
async def clean_up_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes the copies in the listed namespaces only."""
    for namespace in site.spec.namespaces or []:
        await ctx.delete(core.Secret, f"{site.metadata.namespace}-{site.metadata.name}", namespace)


@correct.needs(core.Secret, verbs=VERBS)
@correct.reconciles(Site, reads=[core.Secret])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Writes the copies, and deletes those that are no longer wanted."""
    for namespace in site.spec.namespaces or []:
        await ctx.apply(copy(site, namespace), owned=False)
    await delete_copies(site, ctx, keep=site.spec.namespaces or [])


@correct.finalizes(Site)
async def clean_up_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes all copies."""
    await delete_copies(site, ctx, keep=[])


async def delete_copies(site: Site, ctx: kw.Context[Site], keep: list[str]) -> None:
    """Deletes the copies in other namespaces."""
    labels = {"site": f"{site.metadata.namespace}.{site.metadata.name}"}
    async for found in ctx.client.list(core.Secret, labels=labels):
        if found.metadata.namespace not in keep:
            await ctx.delete(core.Secret, found.metadata.name, found.metadata.namespace)
