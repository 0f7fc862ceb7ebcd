"""Validation of security contexts, in kube-apiserver's order."""

from __future__ import annotations

from typing import Final

from kubewright.cluster.machinery._field_errors import FieldError, invalid, not_supported, required, too_long
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import id_errors, local_path_errors

__all__ = ["app_armor_errors", "container_security_errors", "pod_security_errors"]

_SECCOMP: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_APP_ARMOR: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_LONGEST_PROFILE: Final = 4095
_PROC_MOUNTS: Final = ("Default", "Unmasked")
_GROUP_CHANGES: Final = ("Always", "OnRootMismatch")
_GROUP_POLICIES: Final = ("Merge", "Strict")


def container_security_errors(context: JSONObject | None, path: str, *, host_users: bool) -> list[FieldError]:
    """Validates the security context of a container."""
    if context is None:
        return []
    errors = id_errors(context, "runAsUser", path) + id_errors(context, "runAsGroup", path)
    mount = context.get("procMount")
    if mount is not None:
        if mount not in _PROC_MOUNTS:
            errors.append(not_supported(f"{path}.procMount", mount, _PROC_MOUNTS))
        elif mount == "Unmasked" and host_users:
            errors.append(invalid(f"{path}.procMount", mount, "`hostUsers` must be false to use `Unmasked`"))
    errors += _seccomp_errors(context.get("seccompProfile"), f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        text = "cannot set `allowPrivilegeEscalation` to false and"
        if context.get("privileged"):
            errors.append(invalid(path, context, f"{text} `privileged` to true"))
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            errors.append(invalid(path, context, f"{text} `capabilities.Add` CAP_SYS_ADMIN"))
    return errors + app_armor_errors(context.get("appArmorProfile"), f"{path}.appArmorProfile")


def pod_security_errors(spec: JSONObject, path: str) -> list[FieldError]:
    """Validates the security context of a pod."""
    context, place = spec.get("securityContext") or {}, f"{path}.securityContext"
    errors: list[FieldError] = []
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        errors += id_errors(context, field, place)
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        errors += id_errors({f"supplementalGroups[{index}]": group}, f"supplementalGroups[{index}]", place)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(f"{place}.shareProcessNamespace", True, text))
    errors += _word(context, "fsGroupChangePolicy", place, _GROUP_CHANGES)
    errors += _seccomp_errors(context.get("seccompProfile"), f"{place}.seccompProfile")
    errors += app_armor_errors(context.get("appArmorProfile"), f"{place}.appArmorProfile")
    return errors + _word(context, "supplementalGroupsPolicy", place, _GROUP_POLICIES)


def _word(context: JSONObject, field: str, path: str, supported: tuple[str, ...]) -> list[FieldError]:
    value = context.get(field)
    return [] if value is None or value in supported else [not_supported(f"{path}.{field}", value, supported)]


def _seccomp_errors(profile: JSONObject | None, path: str) -> list[FieldError]:
    if profile is None:
        return []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    errors = [] if kind in _SECCOMP else [not_supported(f"{path}.type", kind, _SECCOMP)]
    if not kind:
        errors = [required(f"{path}.type", "type is required when seccompProfile is set")]
    if kind == "Localhost":
        if local is None:
            text = "must be set when seccomp type is Localhost"
            return [*errors, required(f"{path}.localhostProfile", text)]
        return errors + local_path_errors(local, f"{path}.localhostProfile")
    if local is not None:
        text = "can only be set when seccomp type is Localhost"
        errors.append(invalid(f"{path}.localhostProfile", profile, text))
    return errors


def app_armor_errors(profile: JSONObject | None, path: str) -> list[FieldError]:
    """Validates an AppArmor profile."""
    if profile is None:
        return []
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if kind == "Localhost":
        place = f"{path}.localhostProfile"
        if local is None or local == "":
            return [required(place, "must be set when AppArmor type is Localhost")]
        errors = [] if local.strip() == local else [invalid(place, local, "must not be padded with whitespace")]
        return [*errors, *([too_long(place, _LONGEST_PROFILE)] if len(local.encode()) > _LONGEST_PROFILE else ())]
    errors = []
    if kind in _APP_ARMOR:
        if local is not None:
            text = "can only be set when AppArmor type is Localhost"
            errors.append(invalid(f"{path}.localhostProfile", local, text))
    elif not kind:
        errors.append(required(f"{path}.type", "type is required when appArmorProfile is set"))
    else:
        errors.append(not_supported(f"{path}.type", kind, _APP_ARMOR))
    return errors
