"""Validation of `metadata`, which all kinds share."""

from __future__ import annotations

from typing import Any, Final

from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid, required, too_long
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.names import label_value_problems, qualified_name_problems

__all__ = ["validate_create", "validate_update", "warnings"]

_ANNOTATIONS_SIZE: Final = 256 * 1024
_IMMUTABLE: Final = "field is immutable"
# Immutable fields, with their values if absent.
_UNCHANGING: Final = {
    "name": "",
    "namespace": "",
    "uid": "",
    "creationTimestamp": "",
    "deletionTimestamp": None,
    "deletionGracePeriodSeconds": None,
}
_KNOWN_FINALIZERS: Final = ("foregroundDeletion", "orphan", "kubernetes")
_FORBIDDEN_OWNERS: Final = ("Event",)


def validate_create(type_: ResourceType, obj: JSONObject) -> list[FieldError]:
    """Validates the metadata of a new object."""
    metadata = obj["metadata"]
    errors = []
    if base := metadata.get("generateName"):
        errors += [invalid("metadata.generateName", base, problem) for problem in type_.strategy.prefix_problems(base)]
    name = metadata.get("name", "")
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    else:
        errors += [invalid("metadata.name", name, problem) for problem in type_.strategy.name_problems(name)]
    if type_.namespaced:
        if not metadata.get("namespace"):
            errors.append(required("metadata.namespace"))
    elif metadata.get("namespace"):
        errors.append(forbidden("metadata.namespace", "not allowed on this type"))
    if (generation := metadata.get("generation", 0)) < 0:
        errors.append(invalid("metadata.generation", generation, "must be greater than or equal to 0"))
    return errors + _common(metadata) + _finalizers(metadata) + _unqualified_finalizers(type_, metadata)


def validate_update(type_: ResourceType, obj: JSONObject, old: JSONObject) -> list[FieldError]:
    """Validates the metadata of a changed object."""
    new = obj["metadata"]
    broken = _changes(new, old["metadata"]) + _common(new) + _finalizers(new)
    return broken + _unqualified_finalizers(type_, new)


def _changes(new: JSONObject, was: JSONObject) -> list[FieldError]:
    errors = []
    if was.get("deletionTimestamp"):
        added = sorted(set(new.get("finalizers") or ()) - set(was.get("finalizers") or ()))
        if added:
            listed = ", ".join(f'"{name}"' for name in added)
            text = "no new finalizers can be added if the object is being deleted, found new finalizers "
            errors.append(forbidden("metadata.finalizers", f"{text}[]string{{{listed}}}"))
    return errors + [
        invalid(f"metadata.{field}", new.get(field, absent), _IMMUTABLE)
        for field, absent in _UNCHANGING.items()
        if new.get(field, absent) != was.get(field, absent)
    ]


def _common(metadata: JSONObject) -> list[FieldError]:
    errors = []
    for key, value in (metadata.get("labels") or {}).items():
        errors += [invalid("metadata.labels", key, problem) for problem in qualified_name_problems(key)]
        errors += [invalid("metadata.labels", value, problem) for problem in label_value_problems(value)]
    if annotations := metadata.get("annotations"):
        for key in annotations:
            problems = qualified_name_problems(key.lower())
            errors += [invalid("metadata.annotations", key, problem) for problem in problems]
        if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _ANNOTATIONS_SIZE:
            errors.append(too_long("metadata.annotations", _ANNOTATIONS_SIZE))
    if owners := metadata.get("ownerReferences"):
        errors += _owners(owners)
    return errors


def _finalizers(metadata: JSONObject) -> list[FieldError]:
    errors = []
    names = metadata.get("finalizers") or ()
    for name in names:
        errors += [invalid("metadata.finalizers", name, problem) for problem in qualified_name_problems(name)]
    if "orphan" in names and "foregroundDeletion" in names:
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(invalid("metadata.finalizers", list(names), text))
    return errors


def _unqualified_finalizers(type_: ResourceType, metadata: JSONObject) -> list[FieldError]:
    """Returns the finalizers without a domain: errors for built-in kinds, warnings for custom resources."""
    if type_.custom:
        return []
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"metadata.finalizers[{index}]", name, text)
        for index, name in enumerate(metadata.get("finalizers") or ())
        if "/" not in name and name not in _KNOWN_FINALIZERS
    ]


def _owners(owners: list[JSONObject]) -> list[FieldError]:
    errors, controller = [], ""
    for owner in owners:
        errors += _owner(owner)
        if owner.get("controller"):
            name = f"{owner.get('kind')}/{owner.get('name')}"
            if controller:
                text = 'Only one reference can have Controller set to true. Found "true" in references for'
                shown: Any = [_shown_owner(each) for each in owners]
                errors.append(invalid("metadata.ownerReferences", shown, f"{text} {controller} and {name}"))
            else:
                controller = name
    return errors


def _shown_owner(owner: JSONObject) -> JSONObject:
    order = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
    return {field: owner[field] for field in order if field in owner}


def _owner(owner: JSONObject) -> list[FieldError]:
    path = "metadata.ownerReferences"
    errors = []
    group, _, version = owner.get("apiVersion", "").rpartition("/")
    if not version:
        errors.append(invalid(f"{path}.apiVersion", owner.get("apiVersion", ""), "version must not be empty"))
    empty = (field for field in ("kind", "name", "uid") if not owner.get(field))
    errors += [invalid(f"{path}.{field}", "", "must not be empty") for field in empty]
    if not group and version == "v1" and owner.get("kind") in _FORBIDDEN_OWNERS:
        errors.append(invalid(path, _shown_owner(owner), "/v1, Kind=Event is disallowed from being an owner"))
    return errors


def warnings(type_: ResourceType, metadata: JSONObject, old: JSONObject | None) -> list[str]:
    """Returns warnings for the finalizers of custom resources that have no domain."""
    if not type_.custom:
        return []
    before = (old or {}).get("finalizers") or ()
    return [
        f'metadata.finalizers: "{name}": prefer a domain-qualified finalizer name including a path (/) to avoid '
        "accidental conflicts with other finalizer writers"
        for name in metadata.get("finalizers") or ()
        if "/" not in name and name not in _KNOWN_FINALIZERS and name not in before
    ]
