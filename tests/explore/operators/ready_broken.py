"""Reports ready as soon as the Deployment is applied."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import apps, core, meta


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


@operator.reconciles(Site, owns=[apps.Deployment])
async def sync(site: Site, ctx: kw.Context[Site]) -> None:
    """Runs the site."""
    await ctx.apply(deployment(site))
    await ctx.set_status(SiteStatus(ready=True))
