"""Claims stay as long as pods use them, and volumes as long as claims do: their finalizers go when nobody does."""

from __future__ import annotations

from typing import Final

import kubewright as kw
from kubewright.api import core
from kubewright.cache import ObjectKey
from kubewright.cluster.workloads._pods import has_ended

__all__ = ["register"]

_CLAIM: Final = "kubernetes.io/pvc-protection"
_VOLUME: Final = "kubernetes.io/pv-protection"


def register(operator: kw.Operator) -> None:
    """Let the operator take the finalizers away that the API server gives to claims and volumes."""

    def claims_of(pod: core.Pod) -> list[ObjectKey]:
        return [ObjectKey(pod.metadata.namespace, name) for name in _used_by(pod)]

    watch = kw.Watch(core.Pod, map=claims_of)
    operator.reconciles(core.PersistentVolumeClaim, watches=[watch], name="claim-protection")(release_claim)
    operator.reconciles(core.PersistentVolume, name="volume-protection")(release_volume)


def _used_by(pod: core.Pod) -> set[str]:
    sources = [volume.persistent_volume_claim for volume in pod.spec.volumes or ()]
    return {source.claim_name for source in sources if source is not None}


async def release_claim(key: ObjectKey, ctx: kw.Context[core.PersistentVolumeClaim]) -> None:
    """Let a claim go that is being deleted, once no pod uses it."""
    claim = ctx.get(core.PersistentVolumeClaim, key.name)
    if claim is None or claim.metadata.deletion_timestamp is None or _CLAIM not in claim.metadata.finalizers:
        return
    users = ctx.list(core.Pod, key.namespace)
    if any(key.name in _used_by(pod) for pod in users if not has_ended(pod)):
        return
    claim.metadata.finalizers.remove(_CLAIM)
    await ctx.update(claim)


async def release_volume(key: ObjectKey, ctx: kw.Context[core.PersistentVolume]) -> None:
    """Let a volume go that is being deleted, once it is not bound."""
    volume = ctx.get(core.PersistentVolume, key.name)
    if volume is None or volume.metadata.deletion_timestamp is None or _VOLUME not in volume.metadata.finalizers:
        return
    if volume.status.phase != "Bound":
        volume.metadata.finalizers.remove(_VOLUME)
        await ctx.update(volume)
