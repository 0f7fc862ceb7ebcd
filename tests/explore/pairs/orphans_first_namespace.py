"""Deletes only one of its copies in other namespaces."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta


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


def copy(site: Site, namespace: str) -> core.Secret:
    """Returns the copy in a namespace."""
    labels = {"site": f"{site.metadata.namespace}.{site.metadata.name}"}
    name = f"{site.metadata.namespace}-{site.metadata.name}"
    metadata = meta.ObjectMeta(name=name, namespace=namespace, labels=labels)
    return core.Secret(metadata=metadata, string_data={"message": site.spec.message})


async def sync(site: Site, ctx: kw.Context[Site]) -> None:
    """Writes the copies."""
    for namespace in ("kube-public", "kube-system"):
        await ctx.apply(copy(site, namespace), owned=False)


for operator in (broken, correct):
    operator.needs(core.Secret, verbs=["get", "create", "patch", "delete"])
    operator.reconciles(Site)(sync)


@broken.finalizes(Site)
async def clean_up_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Forgets the second copy."""
    await ctx.delete(copy(site, "kube-public"))


@correct.finalizes(Site)
async def clean_up_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes both copies."""
    for namespace in ("kube-public", "kube-system"):
        await ctx.delete(copy(site, namespace))
