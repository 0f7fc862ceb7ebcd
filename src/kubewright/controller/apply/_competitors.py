"""Finds the field managers that overwrite applied fields, from an object's `managedFields`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubewright.api import ManagedFieldsEntry, Object
from kubewright.api.wire import canonical_json
from kubewright.controller.apply._errors import Competitors
from kubewright.controller.fields import KEY_DEFAULTS
from kubewright.diff import ListKeys

__all__ = ["find_competitors"]

_MANAGED_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")


def find_competitors(existing: Object, requested: dict[str, Any], manager: str) -> Competitors:
    """Returns the managers that have taken requested fields from `manager`, and these fields.

    A client that removes a field leaves no entry. If no field was taken, the last writer is returned. That is often a
    second copy of the same program, with the same field manager.
    """
    entries = [entry for entry in existing.metadata.managed_fields if entry.subresource != "status"]
    ours = next((entry.fields() for entry in entries if _is_ours(entry, manager)), {})
    lost = [
        (path, route)
        for path, route in _requested_fields(requested, ListKeys(type(existing)))
        if not _covers(ours, route)
    ]
    takers = [
        entry
        for entry in entries
        if not _is_ours(entry, manager) and any(_covers(entry.fields(), route) for _, route in lost)
    ]
    if not lost and entries:
        takers = [max(entries, key=lambda entry: (str(entry.time or ""), not _is_ours(entry, manager)))]
    managers = dict.fromkeys(entry.manager or "" for entry in takers)
    return Competitors(managers=tuple(managers), fields=tuple(path for path, _ in lost))


def _is_ours(entry: ManagedFieldsEntry, manager: str) -> bool:
    return (entry.manager, entry.operation, entry.subresource or "") == (manager, "Apply", "")


def _covers(fields: dict[str, Any], route: Sequence[str]) -> bool:
    """Returns whether a field set has this field, or an atomic value that contains it."""
    here = fields
    for step in route:
        if step not in here:
            return here is not fields and not here
        here = here[step]
    return True


def _requested_fields(requested: dict[str, Any], list_keys: ListKeys) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields the requested fields as a path for people (`spec.replicas`) and as steps of a field set (`f:spec`, …)."""
    metadata = {name: requested["metadata"][name] for name in _MANAGED_METADATA if name in requested["metadata"]}
    content = {name: value for name, value in requested.items() if name not in ("apiVersion", "kind")}
    return _below(content | {"metadata": metadata}, list_keys, "", ())


def _below(
    requested: Any, list_keys: ListKeys, path: str, route: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    if isinstance(requested, dict) and requested:
        for name, value in requested.items():
            yield from _below(value, list_keys.member(name), f"{path}.{name}" if path else name, (*route, f"f:{name}"))
    elif (
        isinstance(requested, list)
        and (keys := list_keys.here())
        and all(isinstance(element, dict) for element in requested)
    ):
        for element in requested:
            identity = {key: element.get(key, KEY_DEFAULTS.get(key)) for key in keys}
            named = ",".join(f"{key}={value}" for key, value in identity.items())
            step = f"k:{canonical_json(identity).decode()}"
            yield from _below(element, list_keys.element(), f"{path}[{named}]", (*route, step))
    elif route != ("f:metadata",):
        yield path, route
