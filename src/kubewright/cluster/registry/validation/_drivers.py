"""Validation of CSINodes, CSIStorageCapacities and VolumeAttributesClasses, in kube-apiserver's order."""

from __future__ import annotations

from typing import Final

from kubewright.api import Quantity
from kubewright.cluster.machinery._field_errors import FieldError, duplicate, forbidden, invalid, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import label_key_errors, label_selector_errors
from kubewright.cluster.registry.validation._devices import driver_errors
from kubewright.cluster.registry.validation._storage_classes import parameter_errors
from kubewright.names import subdomain_problems

__all__ = [
    "attributes_class_errors",
    "attributes_class_update_errors",
    "capacity_errors",
    "capacity_update_errors",
    "node_driver_errors",
    "node_driver_update_errors",
]

_MAX_NODE_ID: Final = 256
_DRIVER: Final = {"name": ("Name", ""), "nodeID": ("NodeID", ""), "topologyKeys": ("TopologyKeys", None)}


def node_driver_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the drivers of a CSINode."""
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, driver in enumerate(spec.get("drivers") or ()):
        path, name, node = f"spec.drivers[{index}]", driver.get("name", ""), driver.get("nodeID", "")
        errors += driver_errors(name, f"{path}.name")
        if not node:
            errors.append(required(f"{path}.nodeID"))
        if len(node.encode()) > _MAX_NODE_ID:
            errors.append(invalid(f"{path}.nodeID", node, f"must be {_MAX_NODE_ID} characters or less"))
        if (count := (driver.get("allocatable") or {}).get("count")) is not None and count < 0:
            errors.append(invalid(f"{path}.allocatable.count", count, "must be greater than or equal to 0"))
        if name in names:
            errors.append(duplicate(f"{path}.name", name))
        names.add(name)
        keys = driver.get("topologyKeys") or ()
        for number, key in enumerate(keys):
            errors += [] if key else [required(path)]
            errors += [duplicate(path, key)] if key in keys[:number] else []
            errors += label_key_errors(key, path)
    return errors


def node_driver_update_errors(spec: JSONObject, old: JSONObject) -> list[FieldError]:
    """Rejects changes of a driver, except of the number of its volumes."""
    errors: list[FieldError] = []
    for before in old.get("drivers") or ():
        for driver in spec.get("drivers") or ():
            if driver.get("name", "") != before.get("name", ""):
                continue
            shown, fixed = (
                {name: each.get(field, zero) for field, (name, zero) in _DRIVER.items()} for each in (driver, before)
            )
            if shown != fixed:
                errors.append(invalid("spec.drivers", {**shown, "Allocatable": None}, "field is immutable"))
    return errors


def capacity_errors(obj: JSONObject) -> list[FieldError]:
    """Validates a CSIStorageCapacity."""
    name, capacity = obj.get("storageClassName", ""), obj.get("capacity")
    errors = label_selector_errors(obj.get("nodeTopology"), "nodeTopology")
    errors += [invalid("storageClassName", name, problem) for problem in subdomain_problems(name)]
    if capacity is not None and Quantity(capacity) < Quantity("0"):
        errors.append(invalid("capacity", capacity, "must be greater than or equal to 0"))
    return errors


def capacity_update_errors(obj: JSONObject, old: JSONObject) -> list[FieldError]:
    """Rejects changes of the topology and the class."""
    return [
        invalid(field, obj.get(field, absent), "field is immutable")
        for field, absent in (("nodeTopology", None), ("storageClassName", ""))
        if obj.get(field, absent) != old.get(field, absent)
    ]


def attributes_class_errors(obj: JSONObject) -> list[FieldError]:
    """Validates a VolumeAttributesClass."""
    name, parameters = obj.get("driverName", ""), obj.get("parameters") or {}
    errors = label_key_errors(name.lower(), "driverName") if name else [required("driverName")]
    errors += parameter_errors(parameters)
    return errors if parameters else [*errors, required("parameters", "must contain at least one key/value pair")]


def attributes_class_update_errors(obj: JSONObject, old: JSONObject) -> list[FieldError]:
    """Rejects changes of the driver and the parameters."""
    return [
        forbidden(field, f"updates to {field} are forbidden.")
        for field in ("driverName", "parameters")
        if (obj.get(field) or None) != (old.get(field) or None)
    ]
