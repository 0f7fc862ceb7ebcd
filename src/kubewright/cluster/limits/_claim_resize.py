"""The admission plugin PersistentVolumeClaimResize: a claim grows only if its storage class allows it."""

from __future__ import annotations

from typing import Final

from kubewright.api import Quantity
from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes, Plugin
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["ClaimResize"]

_CLASSES: Final = "storage.k8s.io/storageclasses"
_UNBOUND: Final = "Only bound persistent volume claims can be expanded"
_FIXED: Final = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


class ClaimResize(Plugin):
    """Rejects a larger claim that is not bound, or whose storage class does not set `allowVolumeExpansion`."""

    name = "PersistentVolumeClaimResize"

    def __init__(self, state: State) -> None:
        self._state = state

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether a claim changes."""
        return (
            attributes.operation == "UPDATE"
            and not attributes.subresource
            and attributes.type.qualified == "persistentvolumeclaims"
        )

    def validate(self, attributes: Attributes) -> None:
        """Rejects the growth of a claim whose class does not allow it."""
        new, old = attributes.object, attributes.old
        assert new is not None
        assert old is not None
        if _size(new) <= _size(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise attributes.forbidden(_UNBOUND)
        name = new["spec"].get("storageClassName") or ""
        found = self._state.storage.get(_CLASSES, "", name) if name else None
        same = name == (old["spec"].get("storageClassName") or "")
        if found is None or not same or not found.decode().get("allowVolumeExpansion"):
            raise attributes.forbidden(_FIXED)


def _size(claim: JSONObject) -> Quantity:
    return Quantity(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0"))
