"""Strategies of kinds of storage."""

from __future__ import annotations

from typing import Final

from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.strategies._builtin import BuiltinStrategy
from kubewright.cluster.registry.strategies._specs import SpecStrategy
from kubewright.cluster.registry.validation._claims import claim_errors, claim_update_errors
from kubewright.cluster.registry.validation._drivers import (
    attributes_class_errors,
    attributes_class_update_errors,
    capacity_errors,
    capacity_update_errors,
    node_driver_errors,
    node_driver_update_errors,
)
from kubewright.cluster.registry.validation._persistent_volumes import (
    persistent_volume_errors,
    persistent_volume_update_errors,
)
from kubewright.cluster.registry.validation._storage_classes import storage_class_errors, storage_class_update_errors

__all__ = [
    "AttributesClassStrategy",
    "ClaimStrategy",
    "DriverStrategy",
    "NodeDriversStrategy",
    "StorageCapacityStrategy",
    "StorageClassStrategy",
    "VolumeAttachmentStrategy",
    "VolumeStrategy",
]

_DATA_SOURCES: Final = (("PersistentVolumeClaim", ""), ("VolumeSnapshot", "snapshot.storage.k8s.io"))


class VolumeStrategy(BuiltinStrategy):
    """Volumes and claims: Pending at first, and protected by a finalizer while in use."""

    def prepare_create(self, obj: JSONObject) -> None:
        """Sets phase and finalizer."""
        metadata, claim = obj["metadata"], obj["kind"] == "PersistentVolumeClaim"
        obj["status"] = {"phase": "Pending"}
        if not claim:
            obj["status"]["lastPhaseTransitionTime"] = metadata["creationTimestamp"]
        _protect(obj, "kubernetes.io/pvc-protection" if claim else "kubernetes.io/pv-protection")

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the spec."""
        return persistent_volume_errors(obj["spec"])

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates the spec, and rejects another source."""
        if subresource:
            return []
        return [*persistent_volume_errors(obj["spec"]), *persistent_volume_update_errors(obj, old)]


class AttributesClassStrategy(BuiltinStrategy):
    """VolumeAttributesClasses, which are protected by a finalizer while in use."""

    def prepare_create(self, obj: JSONObject) -> None:
        """Sets the finalizer."""
        _protect(obj, "kubernetes.io/vac-protection")

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the driver and the parameters."""
        return [*super().validate_create(obj), *attributes_class_errors(obj)]

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Rejects changes of the driver and the parameters, too."""
        errors = super().validate_update(obj, old, subresource)
        return [*errors, *attributes_class_update_errors(obj, old), *attributes_class_errors(obj)]


class NodeDriversStrategy(SpecStrategy):
    """CSINodes."""

    @staticmethod
    def rules(obj: JSONObject) -> list[FieldError]:
        """Returns the errors of the drivers."""
        return node_driver_errors(obj.get("spec") or {})

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Rejects changes of known drivers, too."""
        errors = super().validate_update(obj, old, subresource)
        return [*errors, *node_driver_update_errors(obj.get("spec") or {}, old.get("spec") or {})]


class DriverStrategy(BuiltinStrategy):
    """CSIDrivers, whose generation counts from zero."""

    def prepare_create(self, obj: JSONObject) -> None:
        """Removes the generation of new objects."""
        obj["metadata"].pop("generation", None)


def _protect(obj: JSONObject, finalizer: str) -> None:
    finalizers = obj["metadata"].get("finalizers") or []
    if finalizer not in finalizers:
        obj["metadata"]["finalizers"] = [*finalizers, finalizer]


class StorageCapacityStrategy(BuiltinStrategy):
    """CSIStorageCapacities, whose topology and class are immutable."""

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates all fields."""
        return [*super().validate_create(obj), *capacity_errors(obj)]

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates all fields, and rejects changes of immutable ones."""
        return [*self.validate_create(obj), *capacity_update_errors(obj, old)]


class StorageClassStrategy(BuiltinStrategy):
    """StorageClasses, which are mostly immutable."""

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates all fields."""
        return [*super().validate_create(obj), *storage_class_errors(obj)]

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates all fields, and rejects changes of immutable ones."""
        errors = [*super().validate_update(obj, old, subresource), *storage_class_errors(obj)]
        return [*errors, *storage_class_update_errors(obj, old)]


class VolumeAttachmentStrategy(BuiltinStrategy):
    """VolumeAttachments."""

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Requires exactly one source."""
        source = obj["spec"].get("source") or {}
        given = [name for name in ("inlineVolumeSpec", "persistentVolumeName") if source.get(name) is not None]
        if not given:
            text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
            return [required("spec.source", text)]
        if len(given) > 1:
            return [forbidden("spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName")]
        return []

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Rejects every change of the spec."""
        errors = self.validate_create(obj)
        return [*errors, invalid("spec", obj["spec"], "field is immutable")] if obj["spec"] != old["spec"] else errors


class ClaimStrategy(VolumeStrategy):
    """PersistentVolumeClaims, which are mostly immutable."""

    def prepare_create(self, obj: JSONObject) -> None:
        """Sets phase and finalizer, and both fields of the data source."""
        super().prepare_create(obj)
        _complete_sources(obj["spec"], {})

    def prepare_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> None:
        """Sets both fields of the data source again, which older clients omit."""
        super().prepare_update(obj, old, subresource)
        _complete_sources(obj["spec"], old["spec"])

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the spec."""
        return claim_errors(obj["spec"])

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates the spec, and rejects changes of immutable fields."""
        return [] if subresource else [*claim_errors(obj["spec"]), *claim_update_errors(obj, old)]


def _complete_sources(spec: JSONObject, old: JSONObject) -> None:
    """Drops data sources that the real server ignores, and copies `dataSource` to `dataSourceRef`, or the reverse."""
    if (spec.get("dataSourceRef") or {}).get("namespace") and old.get("dataSourceRef") is None:
        del spec["dataSourceRef"]  # references to other namespaces need a feature gate
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    in_use = old.get("dataSource") is not None or old.get("dataSourceRef") is not None
    kept = in_use or source is None or (source.get("kind"), source.get("apiGroup") or "") in _DATA_SOURCES
    if reference is None and not kept:
        source = None
        del spec["dataSource"]
    names = ("apiGroup", "kind", "name")
    if source is not None and reference is None:
        spec["dataSourceRef"] = {name: source[name] for name in names if name in source}
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {name: reference[name] for name in names if name in reference}
