"""Annotations of pods that stand for fields: profiles of seccomp and AppArmor, and the cost of a deletion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import local_path_errors
from kubewright.cluster.registry.validation._security import app_armor_errors

__all__ = [
    "APP_ARMOR",
    "SECCOMP",
    "SECCOMP_POD",
    "annotation_update_errors",
    "app_armor_profile",
    "app_armor_warnings",
    "copy_app_armor",
    "pod_annotation_errors",
    "profile_match_errors",
]

APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP: Final = "container.seccomp.security.alpha.kubernetes.io/"
_MIRROR: Final = "kubernetes.io/config.mirror"
_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_RUNTIME: Final = ("runtime/default", "docker/default")
_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")


def pod_annotation_errors(metadata: JSONObject, spec: JSONObject, path: str) -> list[FieldError]:
    """Validates the annotations of a pod or a template. `path` is that of the annotations."""
    annotations = metadata.get("annotations") or {}
    errors: list[FieldError] = []
    if (mirror := annotations.get(_MIRROR)) is not None and not spec.get("nodeName"):
        errors.append(invalid(f"{path}[{_MIRROR}]", mirror, "must set spec.nodeName if mirror pod annotation is set"))
    if (cost := annotations.get(_COST)) is not None and not _is_int32(cost):
        errors.append(invalid(f"{path}[{_COST}]", cost, "must be a 32bit integer"))
    names = {container.get("name") for field in _LISTS for container in spec.get(field) or ()}
    for key, value in sorted(annotations.items(), reverse=True):
        if key == SECCOMP_POD or key.startswith(SECCOMP):
            errors += _seccomp_errors(value, f"{path}.{key}")
    for key, value in sorted(annotations.items()):
        if key.startswith(APP_ARMOR):
            if (name := key.removeprefix(APP_ARMOR)) not in names:
                errors.append(invalid(f"{path}[{key}]", name, "container not found"))
            if value not in ("", "runtime/default", "unconfined") and not value.startswith("localhost/"):
                errors.append(invalid(f"{path}[{key}]", value, f'invalid AppArmor profile name: "{value}"'))
    return errors


def annotation_update_errors(metadata: JSONObject, old: JSONObject) -> list[FieldError]:
    """Rejects changes of the annotations that a pod has for life."""
    path, new, before = "metadata.annotations", metadata.get("annotations") or {}, old.get("annotations") or {}
    errors = []
    for keys, verb in ((before, "remove or update"), ({key: new[key] for key in new if key not in before}, "add")):
        for key in sorted(keys):
            if (new.get(key), key in new) == (before.get(key), key in before):
                continue
            if key.startswith(APP_ARMOR):
                errors.append(forbidden(f"{path}[{key}]", f"may not {verb} AppArmor annotations"))
            if key == _MIRROR:
                errors.append(forbidden(f"{path}[{key}]", f"may not {verb} mirror pod annotation"))
    return errors


def profile_match_errors(metadata: JSONObject, spec: JSONObject, path: str) -> list[FieldError]:
    """Compares the profiles in annotations with those in fields. `path` is that of the spec."""
    annotations, errors = metadata.get("annotations") or {}, list[FieldError]()
    security = spec.get("securityContext") or {}
    seccomp, place = security.get("seccompProfile"), f"{path}.securityContext.seccompProfile"
    if seccomp is not None and SECCOMP_POD in annotations:
        errors += _mismatch("seccomp", annotations[SECCOMP_POD], seccomp, place, _RUNTIME)
    containers = list(_containers(spec, path))
    for container, where in containers:
        own, key = (container.get("securityContext") or {}).get("seccompProfile"), SECCOMP + container.get("name", "")
        if own is not None and (annotation := annotations.get(key)) is not None:
            errors += _mismatch("seccomp", annotation, own, f"{where}.securityContext.seccompProfile", _RUNTIME)
    if (spec.get("os") or {}).get("name") == "windows":
        return errors
    for container, where in containers:
        own = (container.get("securityContext") or {}).get("appArmorProfile", security.get("appArmorProfile"))
        annotation = annotations.get(APP_ARMOR + container.get("name", ""))
        if own is not None and annotation is not None:
            place = f"{where}.securityContext.appArmorProfile"
            errors += _mismatch("apparmor", annotation, own, place, _RUNTIME[:1])
    return errors


def app_armor_profile(annotation: str) -> JSONObject | None:
    """Returns the field for an annotation; None if no valid profile fits."""
    local = annotation.removeprefix("localhost/")
    found: JSONObject | None = None
    if annotation == "unconfined":
        found = {"type": "Unconfined"}
    elif annotation == "runtime/default":
        found = {"type": "RuntimeDefault"}
    elif local != annotation and local:
        found = {"type": "Localhost", "localhostProfile": local}
    return None if app_armor_errors(found, "") else found


def copy_app_armor(obj: JSONObject) -> None:
    """Copies the AppArmor annotations of a new pod to the fields of its containers."""
    for container, _, profile in _app_armor_without_field(obj):
        if profile is not None:
            container["securityContext"] = {**(container.get("securityContext") or {}), "appArmorProfile": profile}


def app_armor_warnings(obj: JSONObject) -> list[str]:
    """Returns the warnings for the annotations that `copy_app_armor` copies, or would copy if they were valid."""
    text = 'deprecated since v1.30; use the "appArmorProfile" field instead'
    return [f"metadata.annotations[{key}]: {text}" for _, key, _ in _app_armor_without_field(obj)]


def _app_armor_without_field(obj: JSONObject) -> list[tuple[JSONObject, str, JSONObject | None]]:
    """Returns the containers whose profile is only in an annotation: the annotation's key, and the profile."""
    spec, annotations = obj["spec"], obj["metadata"].get("annotations") or {}
    if (spec.get("os") or {}).get("name") == "windows":
        return []
    of_pod, found = (spec.get("securityContext") or {}).get("appArmorProfile"), []
    for container, _ in _containers(spec, ""):
        key, security = APP_ARMOR + container.get("name", ""), container.get("securityContext") or {}
        if key in annotations and security.get("appArmorProfile") is None:
            profile = app_armor_profile(annotations[key])
            if profile is None or profile != of_pod:
                found.append((container, key, profile))
    return found


def _containers(spec: JSONObject, path: str) -> Iterator[tuple[JSONObject, str]]:
    for field in _LISTS:
        for index, container in enumerate(spec.get(field) or ()):
            yield container, f"{path}.{field}[{index}]"


def _is_int32(text: str) -> bool:
    return re.fullmatch(r"0|-[0-9]{1,20}|[1-9][0-9]{0,9}", text) is not None and -(2**31) <= int(text) < 2**31


def _seccomp_errors(profile: str, path: str) -> list[FieldError]:
    if profile in (*_RUNTIME, "unconfined"):
        return []
    if profile.startswith("localhost/"):
        return local_path_errors(profile.removeprefix("localhost/"), path)
    return [invalid(path, profile, "must be a valid seccomp profile")]


def _mismatch(what: str, annotation: str, profile: JSONObject, path: str, default: tuple[str, ...]) -> list[FieldError]:
    fitting = {"Unconfined": ("unconfined",), "RuntimeDefault": default}
    kind = profile.get("type", "")
    if kind == "Localhost" and annotation.startswith("localhost/"):
        same = annotation.removeprefix("localhost/") == profile.get("localhostProfile")
        text = f"{what} profile in annotation and field must match"
        return [] if same else [forbidden(f"{path}.localhostProfile", text)]
    if kind == "Localhost" or annotation not in fitting.get(kind, (annotation,)):
        return [forbidden(f"{path}.type", f"{what} type in annotation and field must match")]
    return []
