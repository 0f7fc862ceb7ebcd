"""Is ready when the first of its children is."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import apps, core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    replicas: int = 1


class SiteStatus(kw.Model):
    """The observed state."""

    conditions: list[meta.Condition] | None = None


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def deployment(site: Site) -> apps.Deployment:
    """Returns the Deployment of a site."""
    labels = {"site": site.metadata.name}
    return apps.Deployment(
        metadata=meta.ObjectMeta(name=site.metadata.name, namespace=site.metadata.namespace),
        spec=apps.DeploymentSpec(
            replicas=site.spec.replicas,
            selector=meta.LabelSelector(match_labels=labels),
            template=core.PodTemplateSpec(
                metadata=meta.ObjectMeta(labels=labels),
                spec=core.PodSpec(containers=[core.Container(name="web", image="nginx")]),
            ),
        ),
    )


def service(site: Site, port: int = 80) -> core.Service:
    """Returns the Service of a site."""
    return core.Service(
        metadata=meta.ObjectMeta(name=site.metadata.name, namespace=site.metadata.namespace),
        spec=core.ServiceSpec(selector={"site": site.metadata.name}, ports=[core.ServicePort(port=port)]),
    )


@broken.reconciles(Site, owns=[apps.Deployment, core.Service])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Reports the state before it has made everything."""
    child = await ctx.apply(deployment(site))
    ready = (child.status.replicas or 0) >= site.spec.replicas
    ctx.set_condition("Ready", ready, "Ready" if ready else "Waiting")
    await ctx.apply(service(site))


@correct.reconciles(Site, owns=[apps.Deployment, core.Service])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Reports the state at the end, and counts only replicas that are ready."""
    child = await ctx.apply(deployment(site))
    await ctx.apply(service(site))
    current = child.status.observed_generation == child.metadata.generation
    ready = current and (child.status.ready_replicas or 0) >= site.spec.replicas
    ctx.set_condition("Ready", ready, "Ready" if ready else "Waiting")
