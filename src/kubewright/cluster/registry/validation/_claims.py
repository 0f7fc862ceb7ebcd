"""Validation of PersistentVolumeClaims."""

from __future__ import annotations

from typing import Final

from kubewright.api import Quantity
from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid, not_supported, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import label_selector_errors
from kubewright.names import label_problems, subdomain_problems

__all__ = ["access_mode_errors", "claim_errors", "claim_update_errors", "volume_mode_errors"]

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")

_VOLUME_MODES: Final = ("Block", "Filesystem")

_IMMUTABLE_CLAIM: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


def claim_errors(spec: JSONObject, path: str = "spec") -> list[FieldError]:
    """Validates the spec of a PersistentVolumeClaim."""
    modes = access_mode_errors(spec, path, "at least 1 access mode is required")
    selector = label_selector_errors(spec.get("selector"), f"{path}.selector")
    errors = selector + modes if spec.get("accessModes") else modes + selector
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        errors.append(required(f"{path}.resources[storage]"))
    elif Quantity(storage) <= Quantity("0"):
        errors.append(invalid(f"{path}.resources[storage]", storage, "must be greater than zero"))
    if name := spec.get("storageClassName"):
        errors += [invalid(f"{path}.storageClassName", name, problem) for problem in subdomain_problems(name)]
    errors += volume_mode_errors(spec, path) + _sources(spec, path)
    attributes = spec.get("volumeAttributesClassName") or ""
    problems = subdomain_problems(attributes) if attributes else []
    return errors + [invalid(f"{path}.volumeAttributesClassName", attributes, problem) for problem in problems]


def _sources(spec: JSONObject, path: str) -> list[FieldError]:
    """Validates the data source in both of its fields, which must be equal."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    errors: list[FieldError] = []
    for name, each in (("dataSource", source), ("dataSourceRef", reference)):
        errors += [] if each is None else _source(each, f"{path}.{name}")
    if source is None or reference is None:
        return errors
    if reference.get("namespace"):
        text = "may not be specified when dataSourceRef.namespace is specified"
        errors.append(invalid(path, {}, text))
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        errors.append(invalid(path, {}, "must match dataSourceRef"))
    return errors


def _source(source: JSONObject, path: str) -> list[FieldError]:
    group, kind, namespace = source.get("apiGroup") or "", source.get("kind", ""), source.get("namespace") or ""
    errors = [required(f"{path}.{name}") for name in ("name", "kind") if not source.get(name)]
    if not group and kind != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid(path, kind, text))
    problems = subdomain_problems(group) if group else []
    errors += [invalid(f"{path}.apiGroup", group, problem) for problem in problems]
    problems = label_problems(namespace) if namespace else []
    return errors + [invalid(f"{path}.namespace", namespace, problem) for problem in problems]


def access_mode_errors(spec: JSONObject, path: str, missing: str = "") -> list[FieldError]:
    """Validates the access modes of a claim or a volume."""
    modes = spec.get("accessModes") or ()
    errors = [] if modes else [required(f"{path}.accessModes", missing)]
    odd = [mode for mode in modes if mode not in _ACCESS_MODES]
    errors += [not_supported(f"{path}.accessModes", mode, _ACCESS_MODES) for mode in odd]
    if "ReadWriteOncePod" in modes and len(set(modes)) > 1:
        text = "may not use ReadWriteOncePod with other access modes"
        errors.append(forbidden(f"{path}.accessModes", text))
    return errors


def volume_mode_errors(spec: JSONObject, path: str) -> list[FieldError]:
    """Validates the mode of a claim or a volume."""
    mode = spec.get("volumeMode")
    return [] if mode is None or mode in _VOLUME_MODES else [not_supported(f"{path}.volumeMode", mode, _VOLUME_MODES)]


def claim_update_errors(obj: JSONObject, old: JSONObject) -> list[FieldError]:
    """Rejects changes of immutable fields. A bound claim may grow; an unbound one may get its volume."""
    spec, before = obj["spec"], old["spec"]
    free = ["volumeName"] if not before.get("volumeName") else []
    if not before.get("storageClassName"):
        free.append("storageClassName")  # a default class may be set later
    bound = (old.get("status") or {}).get("phase") == "Bound"
    limits = [(each.get("resources") or {}).get("limits") for each in (spec, before)]
    if bound:
        free += ["resources", "volumeAttributesClassName"]
    fixed = [{name: value for name, value in each.items() if name not in free} for each in (spec, before)]
    if fixed[0] != fixed[1] or limits[0] != limits[1]:
        return [forbidden("spec", _IMMUTABLE_CLAIM)]
    sizes = [((each.get("resources") or {}).get("requests") or {}).get("storage", "0") for each in (spec, before)]
    if bound and Quantity(sizes[0]) < Quantity(sizes[1]):
        status = ((old.get("status") or {}).get("capacity") or {}).get("storage", sizes[1])
        if Quantity(sizes[0]) <= Quantity(status):
            text = "field can not be less than status.capacity"
            return [forbidden("spec.resources.requests.storage", text)]
    return []
