"""Acts only at the moment at which a Deployment becomes available."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import apps, core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    replicas: int = 1


class SiteStatus(kw.Model):
    """The observed state."""

    ready: bool = False


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


_SEEN: dict[str, bool] = {}


@broken.reconciles(Site, owns=[apps.Deployment, core.Service])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Misses the moment if it is down."""
    child = await ctx.apply(deployment(site))
    available = (child.status.available_replicas or 0) >= site.spec.replicas
    if available and _SEEN.get(site.metadata.uid) is False:
        await ctx.apply(service(site))
    _SEEN[site.metadata.uid] = available


@correct.reconciles(Site, owns=[apps.Deployment, core.Service])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Looks at the state."""
    child = await ctx.apply(deployment(site))
    if (child.status.available_replicas or 0) >= site.spec.replicas or ctx.owned(core.Service):
        await ctx.apply(service(site))
