"""Validation of the environment variables of containers, and of their references, in kube-apiserver's order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from kubewright.api import Quantity
from kubewright.cluster.machinery._field_errors import FieldError, invalid, not_found, not_supported, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import config_key_problems, label_key_errors
from kubewright.names import label_problems, subdomain_problems

__all__ = [
    "field_selector_errors",
    "file_reference_errors",
    "resource_selector_errors",
    "source_errors",
    "variable_errors",
]

_ENV_NAME: Final = re.compile(r"[ -<>-~]+")
_ENV_RULE: Final = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_ENV_SOURCES: Final = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
)
_FIELDS: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_KNOWN_FIELDS: Final = frozenset(
    (*_FIELDS, "metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName", "status.phase")
)
_SUBSCRIPT: Final = re.compile(r"(.+?)\['(.*)'\]", re.DOTALL)
_RESOURCES: Final = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_HUGE_PAGES: Final = ("limits.hugepages-", "requests.hugepages-")
_SIZES: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_DIVISORS: Final = {
    "cpu": (("1m", "1"), "cpu"),
    "memory": (_SIZES, "memory"),
    "ephemeral-storage": (_SIZES, "local ephemeral storage"),
}


def variable_errors(variables: Iterable[JSONObject], path: str) -> list[FieldError]:
    """Validates the variables of a container."""
    errors: list[FieldError] = []
    for index, variable in enumerate(variables):
        name, where = variable.get("name"), f"{path}[{index}]"
        if not name:
            errors.append(required(f"{where}.name"))
        elif not _ENV_NAME.fullmatch(name):
            errors.append(invalid(f"{where}.name", name, _ENV_RULE))
        if (source := variable.get("valueFrom")) is not None:
            errors += _value_errors(source, bool(variable.get("value")), f"{where}.valueFrom")
    return errors


def _value_errors(source: JSONObject, has_value: bool, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if (given := source.get("fieldRef")) is not None:
        errors += field_selector_errors(given, f"{path}.fieldRef", _FIELDS)
    if (given := source.get("resourceFieldRef")) is not None:
        errors += resource_selector_errors(given, f"{path}.resourceFieldRef")
    for field in ("configMapKeyRef", "secretKeyRef"):
        if (given := source.get(field)) is not None:
            errors += _key_errors(given, f"{path}.{field}")
    if (given := source.get("fileKeyRef")) is not None:
        errors += _file_key_errors(given, f"{path}.fileKeyRef")
    given_sources = [value for value in source.values() if value is not None]
    if not given_sources:
        errors.append(invalid(path, "", _ENV_SOURCES))
    elif has_value:
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(given_sources) > 1:
        errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors


def field_selector_errors(selector: JSONObject, path: str, supported: Sequence[str]) -> list[FieldError]:
    """Validates a reference to a field of the pod."""
    version, field, place = selector.get("apiVersion", ""), selector.get("fieldPath", ""), f"{path}.fieldPath"
    if not version:
        return [required(f"{path}.apiVersion")]
    if not field:
        return [required(place)]
    if version != "v1":
        return [invalid(place, field, f"error converting fieldPath: unsupported pod version: {version}")]
    if subscripted := _SUBSCRIPT.fullmatch(field):
        base, key = subscripted.groups()
        if base not in ("metadata.annotations", "metadata.labels"):
            text = f"error converting fieldPath: field label does not support subscript: {field}"
            return [invalid(place, field, text)]
        return label_key_errors(key.lower() if base == "metadata.annotations" else key, path)
    if field == "spec.host":
        field = "spec.nodeName"
    if field not in _KNOWN_FIELDS:
        return [invalid(place, field, f"error converting fieldPath: field label not supported: {field}")]
    return [] if field in supported else [not_supported(place, field, sorted(supported))]


def resource_selector_errors(selector: JSONObject, path: str, *, volume: bool = False) -> list[FieldError]:
    """Validates a reference to a limit or request of a container. In a `volume`, the container must be named."""
    name, errors = selector.get("resource", ""), list[FieldError]()
    if volume and not selector.get("containerName"):
        errors.append(required(f"{path}.containerName"))
    elif not name:
        errors.append(required(f"{path}.resource"))
    elif name not in _RESOURCES and not name.startswith(_HUGE_PAGES):
        errors.append(not_supported(f"{path}.resource", name, _RESOURCES))
    divisor = Quantity(selector.get("divisor") or "0")
    if not divisor:
        return errors
    if name in _RESOURCES or name.startswith(_HUGE_PAGES):
        allowed, shown = _DIVISORS.get(name.partition(".")[2], (_SIZES, "hugepages"))
        if divisor.canonical() not in allowed:
            listed = " and ".join(allowed) if shown == "cpu" else ", ".join(allowed)
            text = f"only divisor's values {listed} are supported with the {shown} resource"
            errors.append(invalid(f"{path}.divisor", name, text))
    return errors


def _key_errors(selector: JSONObject, path: str) -> list[FieldError]:
    """Validates a reference to a key of a ConfigMap or Secret."""
    name, key = selector.get("name", ""), selector.get("key", "")
    errors = [invalid(f"{path}.name", name, problem) for problem in subdomain_problems(name)]
    if not key:
        return [*errors, required(f"{path}.key")]
    return errors + [invalid(f"{path}.key", key, problem) for problem in config_key_problems(key)]


def _file_key_errors(selector: JSONObject, path: str) -> list[FieldError]:
    """Validates a reference to a variable in a file of a volume."""
    key, volume, place = selector.get("key", ""), selector.get("volumeName", ""), selector.get("path", "")
    errors = [] if key else [required(f"{path}.key")]
    if key and not _ENV_NAME.fullmatch(key):
        errors.append(invalid(f"{path}.key", key, _ENV_RULE))
    if volume:
        errors += [invalid(f"{path}.volumeName", volume, problem) for problem in label_problems(volume)]
    else:
        errors.append(required(f"{path}.volumeName"))
    if not place:
        errors.append(required(f"{path}.path"))
    elif ".." in place.split("/"):
        errors.append(invalid(f"{path}.path", place, "must not contain '..'"))
    return errors


def file_reference_errors(spec: JSONObject, path: str) -> list[FieldError]:
    """Validates that the files of variables are in volumes of the type emptyDir."""
    volumes = {volume.get("name", ""): volume for volume in spec.get("volumes") or ()}
    errors: list[FieldError] = []
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            for number, variable in enumerate(container.get("env") or ()):
                reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
                if reference is None:
                    continue
                name = reference.get("volumeName", "")
                place = f"{path}.{field}[{index}].env[{number}].valueFrom.fileKeyRef.volumeName"
                if name not in volumes:
                    errors.append(not_found(place, name))
                elif volumes[name].get("emptyDir") is None:
                    errors.append(invalid(place, name, "referenced volume must be of type emptyDir"))
    return errors


def source_errors(sources: Iterable[JSONObject], path: str) -> list[FieldError]:
    """Validates the ConfigMaps and Secrets whose keys become variables."""
    errors: list[FieldError] = []
    for index, source in enumerate(sources):
        where, prefix = f"{path}[{index}]", source.get("prefix", "")
        if prefix and not _ENV_NAME.fullmatch(prefix):
            errors.append(invalid(f"{where}.prefix", prefix, _ENV_RULE))
        given = [field for field in ("configMapRef", "secretRef") if source.get(field) is not None]
        for field in given:
            name, place = source[field].get("name", ""), f"{where}.{field}.name"
            errors += (
                [invalid(place, name, problem) for problem in subdomain_problems(name)] if name else [required(place)]
            )
        if not given:
            errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors
