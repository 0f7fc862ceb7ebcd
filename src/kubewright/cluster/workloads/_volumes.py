"""Binds claims to volumes: to an existing one that fits, or to a new one."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import Quantity, Selector, core, meta
from kubewright.cache import ObjectKey
from kubewright.cluster.workloads._statuses import moment, write_status
from kubewright.events import object_reference

__all__ = ["register"]

_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
_PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
_PROVISIONER = "kubewright.embedded"
_USE_INDEX = "use"
_WAITING_INDEX = "waiting"


def register(operator: kw.Operator) -> None:
    """Registers the controllers of claims and volumes."""

    operator.indexes(core.PersistentVolume, _USE_INDEX)(_use_of)
    operator.indexes(core.PersistentVolumeClaim, _WAITING_INDEX)(_awaited)

    def waiting(volume: core.PersistentVolume, reader: kw.Reader) -> list[ObjectKey]:
        """Returns the unbound claims that may get the volume."""
        if (reference := volume.spec.claim_ref) is not None:
            claim = reader.read(core.PersistentVolumeClaim, reference.name or "", reference.namespace)
            return [ObjectKey.of(claim)] if claim is not None and claim.status.phase != "Bound" else []
        awaited = (_named(volume.metadata.name), _of_class(volume.spec.storage_class_name))
        return [
            ObjectKey.of(each)
            for value in awaited
            for each in reader.by_index(core.PersistentVolumeClaim, _WAITING_INDEX, value)
        ]

    def volume_of(claim: core.PersistentVolumeClaim) -> list[ObjectKey]:
        return [ObjectKey("", claim.spec.volume_name)] if claim.spec.volume_name else []

    watch_volumes = kw.Watch(core.PersistentVolume, map=waiting)
    operator.reconciles(core.PersistentVolumeClaim, watches=[watch_volumes], name="claims")(bind)
    watch_claims = kw.Watch(core.PersistentVolumeClaim, map=volume_of)
    operator.reconciles(core.PersistentVolume, watches=[watch_claims], name="volumes")(maintain_volume)


async def bind(claim: core.PersistentVolumeClaim, ctx: kw.Context[core.PersistentVolumeClaim]) -> None:
    """Finds or creates the claim's volume, and binds both."""
    if claim.status.phase == "Bound":
        return
    volume = _chosen(claim, ctx)
    if volume is None and (claim.spec.volume_name or claim.spec.storage_class_name == ""):
        text = "no persistent volumes available for this claim and no storage class is set"
        ctx.record("FailedBinding", text)
        await write_status(ctx, core.PersistentVolumeClaimStatus(phase="Pending"))
        return
    if volume is None:
        volume = await ctx.create(_made_for(claim), owned=False)
        ctx.record("ProvisioningSucceeded", f"Successfully provisioned volume {volume.metadata.name}")
    elif volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
        volume.spec.claim_ref = object_reference(claim)
        volume.metadata.annotations[_BY_CONTROLLER] = "yes"
        volume = await ctx.update(volume)
    claim.metadata.annotations[_BIND_COMPLETED] = "yes"
    if not claim.spec.volume_name:
        claim.spec.volume_name = volume.metadata.name
        claim.metadata.annotations[_BY_CONTROLLER] = "yes"
    await ctx.update(claim)
    status = core.PersistentVolumeClaimStatus(
        phase="Bound", access_modes=volume.spec.access_modes, capacity=volume.spec.capacity
    )
    await write_status(ctx, status)


def _use_of(volume: core.PersistentVolume) -> str:
    """Returns the claim that a volume is reserved for, or the storage class of a free one, for an index."""
    reference = volume.spec.claim_ref
    if reference is None:
        return _of_class(volume.spec.storage_class_name)
    return _reserved(reference.namespace or "", reference.name or "")


def _awaited(claim: core.PersistentVolumeClaim) -> str | None:
    """Returns the volume or the storage class that an unbound claim waits for, for an index."""
    if claim.status.phase == "Bound":
        return None
    return _named(claim.spec.volume_name) if claim.spec.volume_name else _of_class(claim.spec.storage_class_name)


def _of_class(name: str | None) -> str:
    return f"class {name or ''}"


def _named(name: str) -> str:
    return f"volume {name}"


def _reserved(namespace: str, name: str) -> str:
    return f"claim {namespace}/{name}"


def _chosen(
    claim: core.PersistentVolumeClaim, ctx: kw.Context[core.PersistentVolumeClaim]
) -> core.PersistentVolume | None:
    """Returns the volume that the claim names or that is reserved for it, else the smallest free one that fits."""
    if claim.spec.volume_name:
        named = ctx.get(core.PersistentVolume, claim.spec.volume_name, "")
        return named if named is not None and _free(named, claim) else None
    reserved = _reserved(claim.metadata.namespace, claim.metadata.name)
    kept = [each for each in ctx.by_index(core.PersistentVolume, _USE_INDEX, reserved) if _free(each, claim)]
    if kept:
        return kept[0]
    unused = ctx.by_index(core.PersistentVolume, _USE_INDEX, _of_class(claim.spec.storage_class_name))
    fitting = [each for each in unused if _fits(each, claim)]
    return min(fitting, key=lambda each: (_storage(each.spec.capacity).as_decimal(), each.metadata.name), default=None)


def _free(volume: core.PersistentVolume, claim: core.PersistentVolumeClaim) -> bool:
    """Returns whether the volume is free or reserved for this claim."""
    reference, metadata = volume.spec.claim_ref, claim.metadata
    if reference is None:
        return True
    same = (reference.namespace, reference.name) == (metadata.namespace, metadata.name)
    return same and reference.uid in (None, "", metadata.uid)


def _fits(volume: core.PersistentVolume, claim: core.PersistentVolumeClaim) -> bool:
    spec, wanted = volume.spec, claim.spec
    if volume.metadata.deletion_timestamp is not None:
        return False
    if (spec.storage_class_name or "") != (wanted.storage_class_name or ""):
        return False
    if (spec.volume_mode or "Filesystem") != (wanted.volume_mode or "Filesystem"):
        return False
    if not set(wanted.access_modes or ()) <= set(spec.access_modes or ()):
        return False
    if wanted.selector is not None and not Selector.from_label_selector(wanted.selector).matches(
        volume.metadata.labels
    ):
        return False
    requested = _storage(wanted.resources.requests if wanted.resources is not None else None)
    return _storage(spec.capacity).as_decimal() >= requested.as_decimal()


def _storage(amounts: dict[str, Quantity] | None) -> Quantity:
    return (amounts or {}).get("storage", Quantity(0))


def _made_for(claim: core.PersistentVolumeClaim) -> core.PersistentVolume:
    name = f"pvc-{claim.metadata.uid}"
    requested = _storage(claim.spec.resources.requests if claim.spec.resources is not None else None)
    return core.PersistentVolume(
        metadata=meta.ObjectMeta(name=name, annotations={_PROVISIONED_BY: _PROVISIONER}),
        spec=core.PersistentVolumeSpec(
            access_modes=claim.spec.access_modes,
            capacity={"storage": requested},
            claim_ref=object_reference(claim),
            persistent_volume_reclaim_policy="Delete",
            storage_class_name=claim.spec.storage_class_name,
            volume_mode=claim.spec.volume_mode or "Filesystem",
            # A volume needs a source, which is never mounted.
            host_path=core.HostPathVolumeSource(path=f"/embedded/{name}"),
        ),
    )


async def maintain_volume(volume: core.PersistentVolume, ctx: kw.Context[core.PersistentVolume]) -> None:
    """Maintains the phase of a volume, and deletes a provisioned one after its claim."""
    reference = volume.spec.claim_ref
    phase = "Available"
    if reference is not None and reference.uid:
        claim = ctx.get(core.PersistentVolumeClaim, reference.name or "", reference.namespace)
        phase = "Bound" if claim is not None and claim.metadata.uid == reference.uid else "Released"
    if volume.status.phase != phase:
        now = moment(ctx)
        await write_status(ctx, core.PersistentVolumeStatus(phase=phase, last_phase_transition_time=now))
    if phase == "Released" and volume.spec.persistent_volume_reclaim_policy == "Delete":
        await ctx.delete(volume)
