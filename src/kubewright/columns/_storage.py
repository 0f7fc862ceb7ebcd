"""Table rows of volumes, storage drivers, ConfigMaps and Secrets."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kubewright.columns._cells import NONE, UNSET, age_of, name_of, spec_of, status_of
from kubewright.columns._table import JSONObject

__all__ = [
    "attachment",
    "attributes_class",
    "claim",
    "config_map",
    "csi_driver",
    "csi_node",
    "secret",
    "storage_class",
    "volume",
]


def claim(obj: JSONObject, now: datetime) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
    volume = spec.get("volumeName", "")
    capacity = (status.get("capacity") or {}).get("storage", "") if volume else ""
    modes = _modes(status.get("accessModes")) if volume else ""
    classes = [spec.get("storageClassName", ""), spec.get("volumeAttributesClassName") or UNSET]
    return [name_of(obj), phase, volume, capacity, modes, *classes, age_of(obj, now), spec.get("volumeMode", UNSET)]


def volume(obj: JSONObject, now: datetime) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
    claim = spec.get("claimRef")
    bound = f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""
    fixed = [(spec.get("capacity") or {}).get("storage", ""), _modes(spec.get("accessModes"))]
    classes = [spec.get("storageClassName", ""), spec.get("volumeAttributesClassName") or UNSET]
    rest = [spec.get("persistentVolumeReclaimPolicy", ""), phase, bound, *classes, status.get("reason", "")]
    return [name_of(obj), *fixed, *rest, age_of(obj, now), spec.get("volumeMode", UNSET)]


def _modes(modes: list[str] | None) -> str:
    short = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
    return ",".join(word for mode, word in short.items() if mode in (modes or ()))


def storage_class(obj: JSONObject, now: datetime) -> list[Any]:
    annotations = obj["metadata"].get("annotations") or {}
    default = annotations.get("storageclass.kubernetes.io/is-default-class") == "true"
    name = f"{name_of(obj)} (default)" if default else name_of(obj)
    fixed = [obj.get("provisioner", ""), obj.get("reclaimPolicy", "Delete"), obj.get("volumeBindingMode", UNSET)]
    return [name, *fixed, bool(obj.get("allowVolumeExpansion")), age_of(obj, now)]


def config_map(obj: JSONObject, now: datetime) -> list[Any]:
    return [name_of(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age_of(obj, now)]


def secret(obj: JSONObject, now: datetime) -> list[Any]:
    return [name_of(obj), obj.get("type", ""), len(obj.get("data") or ()), age_of(obj, now)]


def attachment(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row: driver, volume, node, and whether the volume is attached."""
    spec = spec_of(obj)
    volume_name = (spec.get("source") or {}).get("persistentVolumeName", "")
    attached = bool(status_of(obj).get("attached"))
    return [name_of(obj), spec.get("attacher", ""), volume_name, spec.get("nodeName", ""), attached, age_of(obj, now)]


def attributes_class(obj: JSONObject, now: datetime) -> list[Any]:
    return [name_of(obj), obj.get("driverName", ""), age_of(obj, now)]


def csi_driver(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row: the capabilities of the driver."""
    spec = spec_of(obj)
    tokens = spec.get("tokenRequests")
    audiences = UNSET if tokens is None else ",".join(each.get("audience", "") for each in tokens)
    flags = [spec.get("attachRequired", True), spec.get("podInfoOnMount", False), spec.get("storageCapacity", False)]
    modes = ",".join(spec.get("volumeLifecycleModes") or ()) or NONE
    return [name_of(obj), *flags, audiences, spec.get("requiresRepublish", False), modes, age_of(obj, now)]


def csi_node(obj: JSONObject, now: datetime) -> list[Any]:
    return [name_of(obj), len(spec_of(obj).get("drivers") or ()), age_of(obj, now)]
