"""Chooses the first one of a set of strings, whose order is another one in each process."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    hosts: list[str] | None = None


class SiteStatus(kw.Model):
    """The observed state."""

    leader: str = ""


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")
settled = kw.Operator("site-operator")


def hosts_of(site: Site) -> list[str]:
    """Returns the hosts, or a word for none."""
    return site.spec.hosts or ["none"]


async def lead(site: Site, ctx: kw.Context[Site], leader: str) -> None:
    """Writes the leader, and removes the former one."""
    await ctx.set_status(SiteStatus(leader=leader))
    name = f"{site.metadata.name}-{leader}"
    made = await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name=name), data={"leader": leader}))
    await ctx.prune([core.ConfigMap], keep=[made])


@broken.reconciles(Site, owns=[core.ConfigMap])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Takes any host."""
    await lead(site, ctx, next(iter(set(hosts_of(site)))))


@correct.reconciles(Site, owns=[core.ConfigMap])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Takes the first host."""
    await lead(site, ctx, min(hosts_of(site)))


@settled.reconciles(Site, owns=[core.ConfigMap])
async def sync_settled(site: Site, ctx: kw.Context[Site]) -> None:
    """Takes any host once, and keeps it."""
    leader = site.status.leader
    if leader not in hosts_of(site):
        leader = next(iter(set(hosts_of(site))))
    await lead(site, ctx, leader)
