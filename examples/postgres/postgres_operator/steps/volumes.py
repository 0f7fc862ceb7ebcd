"""Volumes grow, and never shrink. The version and the storage class of a data directory never change."""

import kubewright as kw
from kubewright.api import apps, core
from kubewright.client import Forbidden
from postgres_operator.children import CLUSTER_INDEX, data_secret_name
from postgres_operator.children.secrets import VERSION_ANNOTATION
from postgres_operator.kinds import Postgresql


def refusals_of(cluster: Postgresql, ctx: kw.Context[Postgresql], existing: apps.StatefulSet | None) -> dict[str, str]:
    """Returns the changes of the spec that are refused: the reason of an event, and a message with the fix.

    The cluster keeps the old value of each. Everything else in the spec is applied.
    """
    found: dict[str, str] = {}
    volume = cluster.spec.volume
    largest = max((_size(claim) for claim in claims_of(cluster, ctx)), default=kw.Quantity("0"))
    if kw.Quantity(volume.size) < largest:
        found["VolumeShrinkRefused"] = (
            f"spec.volume.size is {volume.size}, but the volumes have {largest} and cannot shrink; set at least that"
        )
    template = template_of(existing)
    if volume.storage_class and template is not None and template.spec is not None:
        current = template.spec.storage_class_name
        if current != volume.storage_class:
            found["StorageClassChangeRefused"] = (
                f"spec.volume.storageClass is {volume.storage_class}, but the volumes have {current or 'the default'}; "
                "restore it, or create another cluster and move the data"
            )
    version = data_version(cluster, ctx)
    if version != cluster.spec.postgresql.version:
        found["VersionChangeRefused"] = (
            f"spec.postgresql.version is {cluster.spec.postgresql.version}, but the data directory has {version}; "
            "restore it, or create another cluster and move the data"
        )
    return found


def data_version(cluster: Postgresql, ctx: kw.Context[Postgresql]) -> str:
    """Returns the version of the data directory, which is that of the spec for a cluster without data."""
    kept = ctx.get(core.Secret, data_secret_name(cluster))
    if kept is None or not has_data(cluster, ctx):
        return cluster.spec.postgresql.version
    return kept.metadata.annotations.get(VERSION_ANNOTATION, cluster.spec.postgresql.version)


def has_data(cluster: Postgresql, ctx: kw.Context[Postgresql]) -> bool:
    """Returns whether the cluster has pods or volumes, maybe of an earlier cluster of the same name."""
    return ctx.get(apps.StatefulSet, cluster.metadata.name) is not None or bool(claims_of(cluster, ctx))


async def grow_volumes(cluster: Postgresql, ctx: kw.Context[Postgresql]) -> dict[str, str]:
    """Requests the size of the spec for each claim that is smaller. Returns what the cluster refuses."""
    size = kw.Quantity(cluster.spec.volume.size)
    for claim in claims_of(cluster, ctx):
        if _size(claim) < size and claim.metadata.deletion_timestamp is None and claim.spec is not None:
            claim.spec.resources = core.VolumeResourceRequirements(requests={"storage": size})
            try:
                await ctx.update(claim)
            except Forbidden as error:  # for instance by the storage class, or by a quota
                return {"VolumeGrowthRefused": f"volume {claim.metadata.name} cannot grow to {size}: {error}"}
            ctx.record("VolumeGrown", f"requested {size} for volume {claim.metadata.name}")
    return {}


def claims_of(cluster: Postgresql, ctx: kw.Context[Postgresql]) -> list[core.PersistentVolumeClaim]:
    """Returns the claims of the cluster's pods."""
    name, namespace = cluster.metadata.name, cluster.metadata.namespace
    return ctx.by_index(core.PersistentVolumeClaim, CLUSTER_INDEX, name, namespace=namespace)


def template_of(existing: apps.StatefulSet | None) -> core.PersistentVolumeClaim | None:
    """Returns the claim template of a StatefulSet, as it was applied: without the defaults of the server."""
    if existing is None or not existing.spec.volume_claim_templates:
        return None
    found = existing.spec.volume_claim_templates[0]
    if found.spec is None:
        return None
    return core.PersistentVolumeClaim(
        metadata=type(found.metadata)(name=found.metadata.name),
        spec=core.PersistentVolumeClaimSpec(
            access_modes=found.spec.access_modes,
            storage_class_name=found.spec.storage_class_name,
            resources=found.spec.resources,
        ),
    )


def _size(claim: core.PersistentVolumeClaim) -> kw.Quantity:
    requests = claim.spec.resources.requests if claim.spec.resources is not None else None
    return (requests or {}).get("storage", kw.Quantity("0"))
