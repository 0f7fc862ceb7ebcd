"""Cannot leave an image that does not exist.

After zookeeper-operator #547: a StatefulSet with ordered pods waits for a pod whose image is missing, also when its
template has the former image again.
"""

from __future__ import annotations

import kubewright as kw
from kubewright.api import apps, core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    image: str
    replicas: int = 2


class SiteStatus(kw.Model):
    """The observed state."""

    ready: int = 0


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def members(site: Site) -> apps.StatefulSet:
    """Returns the StatefulSet, whose pods are ordered."""
    labels = {"site": site.metadata.name}
    return apps.StatefulSet(
        metadata=meta.ObjectMeta(name=site.metadata.name),
        spec=apps.StatefulSetSpec(
            replicas=site.spec.replicas,
            service_name=site.metadata.name,
            selector=meta.LabelSelector(match_labels=labels),
            template=core.PodTemplateSpec(
                metadata=meta.ObjectMeta(labels=labels),
                spec=core.PodSpec(containers=[core.Container(name="member", image=site.spec.image)]),
            ),
        ),
    )


def is_stuck(pod: core.Pod, site: Site) -> bool:
    """Returns whether a pod waits for an image that is no longer wanted."""
    return pod.status.phase == "Pending" and pod.spec.containers[0].image != site.spec.image


@broken.reconciles(Site, owns=[apps.StatefulSet])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Relies on the StatefulSet."""
    applied = await ctx.apply(members(site))
    site.status.ready = (applied.status and applied.status.ready_replicas) or 0


def site_of(pod: core.Pod) -> list[kw.ObjectKey]:
    """Returns the site that a pod belongs to."""
    site = pod.metadata.labels.get("site")
    return [] if site is None else [kw.ObjectKey(pod.metadata.namespace, site)]


@correct.reconciles(Site, owns=[apps.StatefulSet], watches=[kw.Watch(core.Pod, map=site_of)])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes pods that the StatefulSet waits for in vain."""
    applied = await ctx.apply(members(site))
    site.status.ready = (applied.status and applied.status.ready_replicas) or 0
    for pod in ctx.list(core.Pod, labels={"site": site.metadata.name}):
        if is_stuck(pod, site):
            await ctx.delete(pod)
