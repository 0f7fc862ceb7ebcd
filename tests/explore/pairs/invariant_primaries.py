"""Marks the new primary before it removes the mark from the old one."""

from __future__ import annotations

from typing import Annotated

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    primary: Annotated[int, kw.Range(0, 2)] = 0


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


def never_two_primaries(world: kw.World) -> None:
    """Each site has at most one primary."""
    for site in world.list(Site):
        labels = {"role": "primary", "site": site.metadata.name}
        primaries = world.list(core.ConfigMap, site.metadata.namespace, labels=labels)
        assert len(primaries) <= 1, f"there are {len(primaries)} primaries"


def member(site: Site, number: int, primary: int) -> core.ConfigMap:
    """Returns a member."""
    made = config(site, f"member-{number}")
    role = "primary" if number == primary else "replica"
    made.metadata.labels = {"role": role, "site": site.metadata.name}
    return made


@broken.reconciles(Site, owns=[core.ConfigMap])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Applies the members in the order of their numbers."""
    for number in range(3):
        await ctx.apply(member(site, number, site.spec.primary))


@correct.reconciles(Site, owns=[core.ConfigMap])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Applies the primary last."""
    for number in sorted(range(3), key=lambda each: each == site.spec.primary):
        await ctx.apply(member(site, number, site.spec.primary))


broken.invariant(never_two_primaries)
correct.invariant(never_two_primaries)
