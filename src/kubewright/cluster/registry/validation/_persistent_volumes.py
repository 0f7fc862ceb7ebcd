"""Validation of PersistentVolumes, in kube-apiserver's order."""

from __future__ import annotations

import posixpath
from typing import Final

from kubewright.api import Quantity
from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid, not_supported, required, too_long
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._claims import access_mode_errors, volume_mode_errors
from kubewright.cluster.registry.validation._placement import node_terms_errors
from kubewright.cluster.registry.validation._volumes import host_path_errors, nfs_errors
from kubewright.names import label_problems, subdomain_problems

__all__ = ["persistent_volume_errors", "persistent_volume_update_errors"]

_POLICIES: Final = ("Delete", "Recycle", "Retain")
_ONE_TYPE: Final = "may not specify more than 1 volume type"
# In the order of the real server, with the fields that it requires. The first source counts, further ones are errors.
_SOURCES: Final[dict[str, tuple[str, ...]]] = {
    "hostPath": (),
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "glusterfs": ("endpoints", "path"),
    "flocker": (),
    "nfs": (),
    "rbd": ("monitors", "image"),
    "quobyte": ("registry", "volume"),
    "cephfs": ("monitors",),
    "iscsi": ("targetPortal", "iqn"),
    "cinder": ("volumeID",),
    "fc": (),
    "flexVolume": ("driver",),
    "azureFile": ("secretName", "shareName"),
    "vsphereVolume": ("volumePath",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "local": ("path",),
    "storageos": (),
    "csi": (),
}
_SECRETS: Final = tuple(
    f"{use}SecretRef" for use in ("controllerPublish", "controllerExpand", "nodePublish", "nodeExpand")
)


def persistent_volume_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of a PersistentVolume."""
    errors = access_mode_errors(spec, "spec") + _capacity(spec.get("capacity"))
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy and policy not in _POLICIES:
        errors.append(not_supported("spec.persistentVolumeReclaimPolicy", policy, _POLICIES))
    if (affinity := spec.get("nodeAffinity")) is not None:
        errors += _affinity(affinity)
    errors += _source_errors(spec)
    path = (spec.get("hostPath") or {}).get("path", "")
    if policy == "Recycle" and path.startswith("/") and not posixpath.normpath(path).strip("/"):
        text = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(forbidden("spec.persistentVolumeReclaimPolicy", text))
    if name := spec.get("storageClassName"):
        errors += [invalid("spec.storageClassName", name, problem) for problem in subdomain_problems(name)]
    return errors + volume_mode_errors(spec, "spec") + _attributes_class(spec)


def persistent_volume_update_errors(obj: JSONObject, old: JSONObject) -> list[FieldError]:
    """Rejects changes of the source and the mode. The secret for expansion may be added."""
    spec, before = obj["spec"], old["spec"]
    sources, earlier = _given(spec), _given(before)
    expand = "controllerExpandSecretRef"
    if "csi" in sources and "csi" in earlier and earlier["csi"].get(expand) is None:
        sources["csi"] = {name: value for name, value in sources["csi"].items() if name != expand}
    errors = []
    if sources != earlier:
        path = "spec.persistentvolumesource"
        errors.append(forbidden(path, f"{path} is immutable after creation"))
    if spec.get("volumeMode") != before.get("volumeMode"):
        errors.append(invalid("volumeMode", spec.get("volumeMode"), "field is immutable"))
    if before.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
        text = "update from non-nil value to nil is forbidden"
        errors.append(forbidden("spec.volumeAttributesClassName", text))
    return errors


def _given(spec: JSONObject) -> JSONObject:
    return {name: spec[name] for name in _SOURCES if spec.get(name) is not None}


def _capacity(capacity: JSONObject | None) -> list[FieldError]:
    errors = [] if capacity else [required("spec.capacity")]
    if set(capacity or ()) != {"storage"}:
        errors.append(not_supported("spec.capacity", capacity, ["storage"]))
    for name, amount in sorted((capacity or {}).items()):
        quantity, path = Quantity(amount), f"spec.capacity[{name}]"
        if quantity < Quantity("0"):
            errors.append(invalid(path, int(quantity.as_decimal()), "must be a valid resource quantity"))
        if quantity <= Quantity("0"):
            errors.append(invalid(path, amount, "must be greater than zero"))
    return errors


def _affinity(affinity: JSONObject) -> list[FieldError]:
    wanted = affinity.get("required")
    if wanted is None:
        return [required("spec.nodeAffinity.required", "must specify required node constraints")]
    return node_terms_errors(wanted.get("nodeSelectorTerms") or (), "spec.nodeAffinity.required")


def _source_errors(spec: JSONObject) -> list[FieldError]:
    errors: list[FieldError] = []
    given = list(_given(spec))
    for index, name in enumerate(given):
        path = f"spec.{name}"
        if index and name != "flexVolume":  # the real server does not count it
            errors.append(forbidden("spec.cephFS" if name == "cephfs" else path, _ONE_TYPE))
        else:
            errors += _rules(name, spec[name], path)
    if "local" in given[:1] and spec.get("nodeAffinity") is None:
        errors.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
    return errors if given else [required("spec", "must specify a volume type")]


def _rules(name: str, source: JSONObject, path: str) -> list[FieldError]:
    if name == "hostPath":
        return host_path_errors(source, path)
    if name == "nfs":
        return nfs_errors(source, path)
    if name == "csi":
        return _csi(source, path)
    shown = "spec.persistentDisk" if name == "gcePersistentDisk" else path
    errors = [required(f"{shown}.{field}") for field in _SOURCES[name] if not source.get(field)]
    if name == "local" and ".." in source.get("path", "").split("/"):
        errors.append(invalid(f"{path}.path", source["path"], "must not contain '..'"))
    return errors


def _csi(source: JSONObject, path: str) -> list[FieldError]:
    driver = source.get("driver", "")
    errors = [] if driver else [required(f"{path}.driver")]
    if len(driver) > 63:
        errors.append(too_long(f"{path}.driver", 63))
    if driver:
        errors += [invalid(f"{path}.driver", driver, problem) for problem in subdomain_problems(driver.lower())]
    if not source.get("volumeHandle"):
        errors.append(required(f"{path}.volumeHandle"))
    for field in _SECRETS:
        if (secret := source.get(field)) is not None:
            for part, problems in (("name", subdomain_problems), ("namespace", label_problems)):
                value, place = secret.get(part), f"{path}.{field}.{part}"
                errors += [invalid(place, value, each) for each in problems(value)] if value else [required(place)]
    return errors


def _attributes_class(spec: JSONObject) -> list[FieldError]:
    name, path = spec.get("volumeAttributesClassName"), "spec.volumeAttributesClassName"
    if name is None:
        return []
    if name:
        errors = [invalid(path, name, problem) for problem in subdomain_problems(name)]
    else:
        errors = [required(path, "an empty string is disallowed")]
    if spec.get("csi") is None:
        errors.append(required("spec.csi", "has to be specified when using volumeAttributesClassName"))
    return errors
