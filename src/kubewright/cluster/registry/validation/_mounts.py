"""Validation of the volumes that a container mounts, or uses as block devices, in kube-apiserver's order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubewright.cluster.machinery._field_errors import (
    FieldError,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import local_path_errors

__all__ = ["device_errors", "mount_errors"]

_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_READ_ONLY: Final = ("Disabled", "Enabled", "IfPossible")


def mount_errors(container: JSONObject, path: str, volumes: Mapping[str, bool]) -> list[FieldError]:
    """Validates the mounts of a container; `volumes` are the names that it can mount."""
    errors: list[FieldError] = []
    taken: set[str] = set()
    devices = container.get("volumeDevices") or ()
    blocks, nodes = ({device.get(field, "") for device in devices} for field in ("name", "devicePath"))
    privileged = bool((container.get("securityContext") or {}).get("privileged"))
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        where, name, target = f"{path}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(required(f"{where}.name"))
        if name not in volumes:
            errors.append(not_found(f"{where}.name", name))
        if not target:
            errors.append(required(f"{where}.mountPath"))
        if target in taken:
            errors.append(invalid(f"{where}.mountPath", target, "must be unique"))
        taken.add(target)
        if name and name in blocks:
            errors.append(invalid(f"{where}.name", name, "must not already exist in volumeDevices"))
        if target in nodes:
            errors.append(invalid(f"{where}.mountPath", target, "must not already exist as a path in volumeDevices"))
        errors += local_path_errors(mount.get("subPath", ""), f"{path}.subPath")
        if expression := mount.get("subPathExpr"):
            if mount.get("subPath"):
                text = "subPathExpr and subPath are mutually exclusive"
                errors.append(invalid(f"{where}.subPathExpr", expression, text))
            errors += local_path_errors(expression, f"{path}.subPathExpr")
        propagation = mount.get("mountPropagation")
        if propagation is not None and propagation not in _PROPAGATIONS:
            errors.append(not_supported(f"{path}.mountPropagation", propagation, _PROPAGATIONS))
        if propagation == "Bidirectional" and not privileged:
            text = "Bidirectional mount propagation is available only to privileged containers"
            errors.append(forbidden(f"{path}.mountPropagation", text))
        errors += _read_only_errors(mount, f"{path}.recursiveReadOnly")
    return errors


def _read_only_errors(mount: JSONObject, path: str) -> list[FieldError]:
    value = mount.get("recursiveReadOnly")
    if value is None or value == "Disabled":
        return []
    if value not in _READ_ONLY:
        return [not_supported(path, value, _READ_ONLY)]
    errors = [] if mount.get("readOnly") else [forbidden(path, "may only be specified when readOnly is true")]
    if mount.get("mountPropagation") not in (None, "None"):
        errors.append(forbidden(path, "may only be specified when mountPropagation is None or not specified"))
    return errors


def device_errors(container: JSONObject, path: str, volumes: Mapping[str, bool]) -> list[FieldError]:
    """Validates the block devices of a container, which only claims can be."""
    errors: list[FieldError] = []
    names, places = set[str](), set[str]()
    mounts = container.get("volumeMounts") or ()
    mounted, targets = ({mount.get(field, "") for mount in mounts} for field in ("name", "mountPath"))
    for index, device in enumerate(container.get("volumeDevices") or ()):
        where, name, place = f"{path}[{index}]", device.get("name", ""), device.get("devicePath", "")
        if not name:
            errors.append(required(f"{where}.name"))
        if name in names:
            errors.append(invalid(f"{where}.name", name, "must be unique"))
        if name not in volumes:
            errors.append(not_found(f"{where}.name", name))
        elif not volumes[name]:
            text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            errors.append(invalid(f"{where}.name", name, text))
        if not place:
            errors.append(required(f"{where}.devicePath"))
        if place in places:
            errors.append(invalid(f"{where}.devicePath", place, "must be unique"))
        if ".." in place.split("/"):
            errors.append(invalid(f"{where}.devicePath", place, "can not contain backsteps ('..')"))
        else:
            places.add(place)
        if name in mounted:
            errors.append(invalid(f"{where}.name", name, "must not already exist in volumeMounts"))
        if place in targets:
            errors.append(invalid(f"{where}.devicePath", place, "must not already exist as a path in volumeMounts"))
        names.update([name] if name else ())
    return errors
