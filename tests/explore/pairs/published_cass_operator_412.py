"""Deletes the volumes of the present object because it sees the deletion of a former one with the same name.

After cass-operator #412: a replica that sees the past lists volumes by the name of the object, not by its uid.
"""

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


def claim(site: Site) -> core.PersistentVolumeClaim:
    """Returns the volume, which has no owner, so that only the operator deletes it."""
    labels = {"site": site.metadata.name, "site-uid": site.metadata.uid}
    return core.PersistentVolumeClaim(
        metadata=meta.ObjectMeta(name=f"data-{site.metadata.name}", namespace=site.metadata.namespace, labels=labels),
        spec=core.PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce"],
            resources=core.VolumeResourceRequirements(requests={"storage": kw.Quantity("1Gi")}),
        ),
    )


async def sync(site: Site, ctx: kw.Context[Site]) -> None:
    """Creates the volume."""
    await ctx.apply(claim(site), owned=False)
    await ctx.apply(
        core.ConfigMap(metadata=meta.ObjectMeta(name=site.metadata.name), data={"message": site.spec.message})
    )


async def remove(ctx: kw.Context[Site], site: Site, labels: dict[str, str]) -> None:
    """Deletes the volumes with these labels."""
    listed = await ctx.client.list(core.PersistentVolumeClaim, site.metadata.namespace, labels=labels)
    for found in listed:
        await ctx.delete(found)


for operator in (broken, correct):
    operator.needs(core.PersistentVolumeClaim, verbs=["get", "list", "create", "patch", "delete"])
    operator.reconciles(Site, owns=[core.ConfigMap])(sync)


@broken.finalizes(Site)
async def clean_up_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes the volumes of this name."""
    await remove(ctx, site, {"site": site.metadata.name})


@correct.finalizes(Site)
async def clean_up_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Deletes the volumes of this object."""
    await remove(ctx, site, {"site-uid": site.metadata.uid})
