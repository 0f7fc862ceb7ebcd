"""Adds its finalizer after it has created an object in another namespace."""

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


@kw.resource("explored.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


operator = kw.Operator("site-operator")


def place(site: Site) -> str:
    """Returns the name of the child in the shared namespace."""
    return f"{site.metadata.namespace}-{site.metadata.name}"


MARK = "explored.example.com/clean-up"


@operator.needs(core.ConfigMap, verbs=["get", "create", "patch", "delete"])
@operator.reconciles(Site)
async def sync(key: kw.ObjectKey, ctx: kw.Context[Site]) -> None:
    """Keeps a copy of the message in kube-public."""
    site = ctx.get(Site, key.name, key.namespace)
    if site is None:
        return
    if site.metadata.deletion_timestamp is not None:
        if MARK in site.metadata.finalizers:
            await ctx.delete(core.ConfigMap, place(site), "kube-public")
            site.metadata.finalizers.remove(MARK)
            await ctx.client.update(site)
        return
    child = core.ConfigMap(
        metadata=meta.ObjectMeta(name=place(site), namespace="kube-public"), data={"message": site.spec.message or ""}
    )
    await ctx.apply(child, owned=False)
    if MARK not in site.metadata.finalizers:
        site.metadata.finalizers.append(MARK)
        await ctx.client.update(site)
