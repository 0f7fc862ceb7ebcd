"""Descriptors: how a console shows the fields of a kind, from the kind's schema.

Each field of `spec` and `status` has one, and each field of an object in it, unless that contains objects in turn, like
the template of a pod. The descriptor says how a field is edited: a switch, a number, a choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kubewright.olm._words import first_sentence, title_of

__all__ = ["CONDITIONS", "spec_descriptors", "status_descriptors"]

_UI: Final = "urn:alm:descriptor:com.tectonic.ui:"
CONDITIONS: Final = "urn:alm:descriptor:io.kubernetes.conditions"


def spec_descriptors(schema: Mapping[str, Any], *, replicas: str = "") -> list[dict[str, Any]]:
    """Returns the descriptors of the schema of a spec, sorted by path.

    `replicas` is the path of the number that `/scale` changes.
    """

    def edited(path: str, field: Mapping[str, Any]) -> list[str]:
        return [f"{_UI}podCount"] if path == replicas else _edited(field)

    return sorted(_fields(schema, "", edited), key=lambda one: one["path"])


def status_descriptors(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the descriptors of the schema of a status, sorted by path."""
    return sorted(_fields(schema, "", lambda _, field: _shown(field)), key=lambda one: one["path"])


def _fields(
    schema: Mapping[str, Any], before: str, ways_of: Callable[[str, Mapping[str, Any]], list[str]]
) -> Iterator[dict[str, Any]]:
    for name, field in (schema.get("properties") or {}).items():
        path = f"{before}{name}"
        shown: dict[str, Any] = {"displayName": title_of(name), "path": path}
        if text := field.get("description"):
            shown["description"] = first_sentence(text)
        if ways := ways_of(path, field):
            shown["x-descriptors"] = ways
        yield shown
        if not before and not ways and _is_plain(field):
            yield from _fields(field, f"{path}.", ways_of)


def _is_plain(field: Mapping[str, Any]) -> bool:
    """Whether it is an object that contains no objects."""
    inside = field.get("properties") or {}
    return bool(inside) and not any(one.get("properties") for one in inside.values())


def _edited(field: Mapping[str, Any]) -> list[str]:
    """Returns how a field is edited; nothing if there is no special way."""
    kind, inside = field.get("type"), field.get("properties") or {}
    if choices := field.get("enum"):
        return [f"{_UI}select:{choice}" for choice in choices]
    if kind == "string":
        return [f"{_UI}password" if field.get("format") == "password" else f"{_UI}text"]
    if kind in ("integer", "number"):
        return [f"{_UI}number"]
    if kind == "boolean":
        return [f"{_UI}booleanSwitch"]
    if kind == "object" and {"limits", "requests"} <= set(inside):
        return [f"{_UI}resourceRequirements"]
    return []


def _shown(field: Mapping[str, Any]) -> list[str]:
    """Returns how a field is shown: conditions as a table, plain values as text."""
    kind, inside = field.get("type"), (field.get("items") or {}).get("properties") or {}
    if kind == "array" and {"lastTransitionTime", "status", "type"} <= set(inside):
        return [CONDITIONS]
    return [f"{_UI}text"] if kind in ("string", "integer", "number", "boolean") else []
