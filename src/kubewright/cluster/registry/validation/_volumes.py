"""Validation of the volumes of pods, in kube-apiserver's order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kubewright.api import Quantity
from kubewright.cluster.machinery._field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import local_path_errors, name_errors

__all__ = ["host_path_errors", "nfs_errors", "volume_errors"]

_MODE_RULE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_PATH_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
# In the order of the real server: the first source counts, further ones are errors.
_SOURCES: Final = (
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
)
_CLAIMS: Final = ("persistentVolumeClaim", "ephemeral")
_MISSPELLED: Final = {"downwardAPI": "downwarAPI", "cephfs": "cephFS"}
"""Names of fields in errors of the real server."""
_PROJECTIONS: Final = (
    "secret",
    "configMap",
    "downwardAPI",
    "serviceAccountToken",
    "clusterTrustBundle",
    "podCertificate",
)


def volume_errors(volumes: Iterable[JSONObject], path: str) -> tuple[list[FieldError], dict[str, bool]]:
    """Returns the errors of the volumes, and the names that can be mounted, with whether they are claims."""
    errors: list[FieldError] = []
    names: dict[str, bool] = {}
    for index, volume in enumerate(volumes):
        place = f"{path}[{index}]"
        found = _source_errors(volume, place)
        found += name_errors(volume, place)
        if volume.get("name") in names:
            found.append(duplicate(f"{place}.name", volume["name"]))
        if not found:
            names[volume["name"]] = any(volume.get(field) is not None for field in _CLAIMS)
        errors += found
    return errors, names


def _source_errors(volume: JSONObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    first = True
    for source in _SOURCES:
        given = volume.get(source)
        if given is None:
            continue
        if not first:
            shown = _MISSPELLED.get(source, source)
            errors.append(forbidden(f"{path}.{shown}", "may not specify more than 1 volume type"))
        elif source in _RULES:
            errors += _RULES[source](given, f"{path}.{source}")
        first = False
    return errors or ([required(path, "must specify a volume type")] if first else [])


def _empty_dir(source: JSONObject, path: str) -> list[FieldError]:
    if (limit := source.get("sizeLimit")) is not None and Quantity(limit) < Quantity("0"):
        return [forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def host_path_errors(source: JSONObject, path: str) -> list[FieldError]:
    """Validates a path of the node."""
    place, kind = source.get("path", ""), source.get("type")
    if not place:
        return [required(f"{path}.path")]
    errors = []
    if ".." in place.split("/"):
        errors.append(invalid(f"{path}.path", place, "must not contain '..'"))
    if kind is not None and kind not in _HOST_PATH_TYPES:
        errors.append(not_supported(f"{path}.type", kind, _HOST_PATH_TYPES))
    return errors


def _named(field: str) -> Callable[[JSONObject, str], list[FieldError]]:
    def rule(source: JSONObject, path: str) -> list[FieldError]:
        errors = [] if source.get(field) else [required(f"{path}.{field}")]
        return errors + _mode(source, "defaultMode", path) + _items(source, path)

    return rule


def _mode(source: JSONObject, field: str, path: str) -> list[FieldError]:
    mode = source.get(field)
    return [] if mode is None or 0 <= mode <= 0o777 else [invalid(f"{path}.{field}", mode, _MODE_RULE)]


def _items(source: JSONObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, item in enumerate(source.get("items") or ()):
        place = f"{path}.items[{index}]"
        errors += [required(f"{place}.{field}") for field in ("key", "path") if not item.get(field)]
        errors += local_path_errors(item.get("path", ""), f"{place}.path", reserved=True)
        errors += _mode(item, "mode", place)
    return errors


def _claim(source: JSONObject, path: str) -> list[FieldError]:
    return [] if source.get("claimName") else [required(f"{path}.claimName")]


def nfs_errors(source: JSONObject, path: str) -> list[FieldError]:
    """Validates a path of an NFS server."""
    errors = [required(f"{path}.{field}") for field in ("server", "path") if not source.get(field)]
    if not source.get("path", "").startswith("/"):
        errors.append(invalid(f"{path}.path", source.get("path", ""), "must be an absolute path"))
    return errors


def _csi(source: JSONObject, path: str) -> list[FieldError]:
    return [] if source.get("driver") else [required(f"{path}.driver")]


def _projected(source: JSONObject, path: str) -> list[FieldError]:
    errors, paths = _mode(source, "defaultMode", path), set[str]()
    for index, part in enumerate(source.get("sources") or ()):
        place = f"{path}.sources[{index}]"
        for field in ("secret", "configMap"):
            if (given := part.get(field)) is not None:
                errors += [] if given.get("name") else [required(f"{place}.{field}.name")]
                errors += _items(given, f"{place}.{field}")
                errors += _repeated(given, paths, path, shown=given.get("name", ""))
        if (given := part.get("downwardAPI")) is not None:
            errors += _repeated(given, paths, path)
        if (given := part.get("serviceAccountToken")) is not None:
            errors += _token(given, path, place)
        if sum(part.get(field) is not None for field in _PROJECTIONS) > 1:
            errors.append(forbidden(place, "may not specify more than 1 volume type per source"))
    return errors


def _repeated(source: JSONObject, paths: set[str], path: str, shown: str | None = None) -> list[FieldError]:
    """Returns errors for files whose paths are in `paths`, and adds the others to it."""
    errors = []
    for item in source.get("items") or ():
        if (found := item.get("path", "")) and found in paths:
            errors.append(invalid(path, found if shown is None else shown, "conflicting duplicate paths"))
        paths.add(found)
    return errors


def _token(source: JSONObject, path: str, place: str) -> list[FieldError]:
    """Validates a token. As on the real server, the path of its path is that of the volume."""
    seconds, field = source.get("expirationSeconds", 0), f"{place}.serviceAccountToken.expirationSeconds"
    errors = []
    if seconds < 600:
        errors.append(invalid(field, seconds, "may not specify a duration less than 10 minutes"))
    if seconds > 2**32:
        errors.append(invalid(field, seconds, "may not specify a duration larger than 2^32 seconds"))
    if not source.get("path"):
        return [*errors, required(f"{path}.path")]
    return errors + local_path_errors(source["path"], f"{path}.path", reserved=True)


_RULES: Final[dict[str, Callable[[JSONObject, str], list[FieldError]]]] = {
    "emptyDir": _empty_dir,
    "hostPath": host_path_errors,
    "secret": _named("secretName"),
    "configMap": _named("name"),
    "persistentVolumeClaim": _claim,
    "nfs": nfs_errors,
    "projected": _projected,
    "csi": _csi,
}
