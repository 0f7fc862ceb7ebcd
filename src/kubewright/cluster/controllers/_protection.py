"""Deletes claims, volumes and attributes classes when no object uses them any more."""

from __future__ import annotations

from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.controllers._writing import controller_user, type_of, update
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.machinery._calls import User
from kubewright.cluster.machinery._failures import Failure
from kubewright.cluster.machinery._work_budget import PROCESSED, SCANNED, WorkBudget
from kubewright.cluster.storage._storage import Entry, Event, RevisionConflict

__all__ = ["VolumeProtection"]

_CLAIMS: Final = "/persistentvolumeclaims"
_VOLUMES: Final = "/persistentvolumes"
_CLASSES: Final = "storage.k8s.io/volumeattributesclasses"
_PODS: Final = "/pods"
_PROTECTIONS: Final = {
    _CLAIMS: ("kubernetes.io/pvc-protection", controller_user("pvc-protection-controller")),
    _VOLUMES: ("kubernetes.io/pv-protection", controller_user("pv-protection-controller")),
    _CLASSES: (
        "kubernetes.io/vac-protection",
        controller_user("volumeattributesclass-protection-controller"),
    ),
}


class VolumeProtection:
    """Removes the protection finalizer of unused volumes. `notice` records each write, `work` processes them."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._look = True
        self.later = False

    def notice(self, event: Event) -> None:
        """Records the deletion of a volume or claim, or of a pod or claim that used one."""
        if event.storage in _PROTECTIONS or (event.storage == _PODS and event.kind != "ADDED"):
            self._look = True

    @property
    def busy(self) -> bool:
        """Returns whether work is pending."""
        return self._look

    async def work(self, budget: WorkBudget) -> None:
        """Removes the finalizer of everything that is unused."""
        self._look = False
        for storage, (protection, user) in _PROTECTIONS.items():
            for entry in list(self._state.storage.entries(storage)):
                if b'"deletionTimestamp"' in entry.raw:
                    try:
                        await self._release(storage, protection, user, entry, budget)
                    except RevisionConflict:  # it changed during admission
                        self._look = True
                    except Failure:  # admission rejected the write, possibly temporarily
                        self.later = True
                    await budget.spend(PROCESSED)
                else:
                    await budget.spend(SCANNED)

    def again(self) -> None:
        """Retries after admission rejected a write."""
        self._look, self.later = True, False

    async def _release(self, storage: str, protection: str, user: User, entry: Entry, budget: WorkBudget) -> None:
        type_ = type_of(self._state, storage)
        assert type_ is not None
        obj = decoded(type_, entry)
        metadata = obj["metadata"]
        finalizers = metadata.get("finalizers") or []
        if not metadata.get("deletionTimestamp") or protection not in finalizers:
            return
        if storage == _CLAIMS:
            if await self._is_mounted(entry, budget):
                return
        elif storage == _CLASSES:
            if await self._is_referenced(entry, budget):
                return
        elif (obj.get("status") or {}).get("phase") == "Bound":
            return
        left = [each for each in finalizers if each != protection]
        changed = {**metadata, "finalizers": left}
        if not left:
            del changed["finalizers"]
        await update(self._state, type_, entry, {**obj, "metadata": changed}, user)

    async def _is_mounted(self, claim: Entry, budget: WorkBudget) -> bool:
        """Returns whether a pod that has not finished uses the claim."""
        storage = self._state.storage
        scanned = storage.revision
        for entry in list(storage.entries(_PODS, claim.namespace)):
            if _uses(entry, claim):
                return True
            await budget.spend(SCANNED)
        # Pods that were written during the scan.
        return any(each.revision > scanned and _uses(each, claim) for each in storage.entries(_PODS, claim.namespace))

    async def _is_referenced(self, attributes_class: Entry, budget: WorkBudget) -> bool:
        """Returns whether a claim or volume has the class, or is about to get it."""
        name = attributes_class.name
        for entry in [*self._state.storage.entries(_CLAIMS), *self._state.storage.entries(_VOLUMES)]:
            if name.encode() in entry.raw and name in _classes_of(entry):
                return True
            await budget.spend(SCANNED)
        return False


def _classes_of(entry: Entry) -> set[str]:
    obj = entry.decode()
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return {
        spec.get("volumeAttributesClassName", ""),
        status.get("currentVolumeAttributesClassName", ""),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName", ""),
    }


def _uses(entry: Entry, claim: Entry) -> bool:
    if claim.name.encode() not in entry.raw:
        return False
    pod = entry.decode()
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return False
    volumes = (pod.get("spec") or {}).get("volumes") or ()
    return any((each.get("persistentVolumeClaim") or {}).get("claimName") == claim.name for each in volumes)
