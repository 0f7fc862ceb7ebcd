"""Validation of StorageClasses."""

from __future__ import annotations

from typing import Final

from kubewright.cluster.machinery._field_errors import FieldError, duplicate, invalid, not_supported, required, too_long
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import label_key_errors

__all__ = ["parameter_errors", "storage_class_errors", "storage_class_update_errors"]

_POLICIES: Final = ("Delete", "Retain")
_MODES: Final = ("Immediate", "WaitForFirstConsumer")
_MAX_PARAMETERS: Final = 512
_MAX_PARAMETER_BYTES: Final = 256 * 1024
_IMMUTABLE: Final = ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")


def storage_class_errors(obj: JSONObject) -> list[FieldError]:
    """Validates a StorageClass."""
    provisioner, policy, mode = obj.get("provisioner", ""), obj.get("reclaimPolicy"), obj.get("volumeBindingMode")
    errors = label_key_errors(provisioner.lower(), "provisioner") if provisioner else [required("provisioner")]
    errors += parameter_errors(obj.get("parameters") or {})
    if policy and policy not in _POLICIES:
        errors.append(not_supported("reclaimPolicy", policy, _POLICIES))
    if mode is None:
        errors.append(required("volumeBindingMode"))
    elif mode not in _MODES:
        errors.append(not_supported("volumeBindingMode", mode, _MODES))
    return errors + _topologies(obj.get("allowedTopologies") or [])


def storage_class_update_errors(obj: JSONObject, old: JSONObject) -> list[FieldError]:
    """Rejects changes of all fields but the topologies and the expansion."""
    changed = [name for name in _IMMUTABLE if (obj.get(name) or None) != (old.get(name) or None)]
    return [invalid(name, obj.get(name), "field is immutable") for name in changed]


def parameter_errors(parameters: JSONObject) -> list[FieldError]:
    """Validates the number and the size of parameters."""
    if len(parameters) > _MAX_PARAMETERS:
        return [too_long("parameters", _MAX_PARAMETERS)]
    errors = [invalid("parameters", "", "field can not be empty.")] if "" in parameters else []
    size = sum(len(key.encode()) + len(value.encode()) for key, value in parameters.items())
    return errors if size <= _MAX_PARAMETER_BYTES else [*errors, too_long("parameters", _MAX_PARAMETER_BYTES)]


def _topologies(terms: list[JSONObject]) -> list[FieldError]:
    """Validates the topologies. The real server reports a term without expressions once per term."""
    errors: list[FieldError] = []
    before: list[dict[str, set[str]]] = [{} for _ in terms]
    for index, term in enumerate(terms):
        path, found = f"allowedTopologies[{index}].matchLabelExpressions", dict[str, set[str]]()
        for number, each in enumerate(term.get("matchLabelExpressions") or ()):
            key, values, place = each.get("key", ""), each.get("values") or [], f"{path}[{number}]"
            errors += [] if values else [required(f"{place}.values")]
            repeated = [position for position, value in enumerate(values) if value in values[:position]]
            errors += [duplicate(f"{place}.values[{position}]", values[position]) for position in repeated]
            errors += label_key_errors(key, f"{place}.key")
            errors += [duplicate(f"{place}.key", key)] if key in found else []
            found[key] = set(values)
        errors += [duplicate(path, "") for other in before if other == found]
        before.append(found)
    return errors
