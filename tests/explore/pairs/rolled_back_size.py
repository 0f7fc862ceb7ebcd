"""Never shrinks."""

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


@broken.reconciles(Site, owns=[apps.Deployment])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Keeps the largest size."""
    wanted = deployment(site)
    found = ctx.get(apps.Deployment, site.metadata.name)
    if found is not None and found.spec.replicas is not None and wanted.spec.replicas is not None:
        wanted.spec.replicas = max(found.spec.replicas, wanted.spec.replicas)
    await ctx.apply(wanted)


@correct.reconciles(Site, owns=[apps.Deployment])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Applies the size."""
    await ctx.apply(deployment(site))
