"""Deletes the StatefulSet of the present object because it sees the deletion of a former one with the same name.

After rabbitmq's cluster-operator #648: the replica that sees the past deletes the StatefulSet by its name.
"""

from __future__ import annotations

from typing import Annotated

import kubewright as kw
from kubewright.api import apps, core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    replicas: Annotated[int, kw.Range(1, 3)] = 1


class SiteStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def server(site: Site) -> apps.StatefulSet:
    """Returns the StatefulSet."""
    labels = {"site": site.metadata.name}
    container = core.Container(name="main", image="server:1")
    return apps.StatefulSet(
        metadata=meta.ObjectMeta(name=f"{site.metadata.name}-server", namespace=site.metadata.namespace),
        spec=apps.StatefulSetSpec(
            replicas=site.spec.replicas,
            service_name=site.metadata.name,
            selector=meta.LabelSelector(match_labels=labels),
            template=core.PodTemplateSpec(
                metadata=meta.ObjectMeta(labels=labels), spec=core.PodSpec(containers=[container])
            ),
        ),
    )


async def sync(site: Site, ctx: kw.Context[Site]) -> None:
    """Creates the StatefulSet."""
    await ctx.apply(server(site))


for operator in (broken, correct):
    operator.reconciles(Site, owns=[apps.StatefulSet])(sync)


@broken.finalizes(Site)
async def clean_up_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Stops the servers with the name."""
    await ctx.delete(apps.StatefulSet, f"{site.metadata.name}-server")


@correct.finalizes(Site)
async def clean_up_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Stops the servers of this object."""
    for found in ctx.owned(apps.StatefulSet):
        await ctx.delete(found)
