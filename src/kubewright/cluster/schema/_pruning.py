"""Fields that a schema does not know: finding them, and taking them away."""

from __future__ import annotations

from typing import Any

from kubewright.cluster.schema._node import Schema

__all__ = ["prune", "unknown_fields"]


def prune(schema: Schema, obj: Any) -> list[str]:
    """Remove, in place, what the schema does not know. The paths of what was removed, sorted: `spec.list[0].nope`."""
    return _unknown(schema, obj, remove=True)


def unknown_fields(schema: Schema, obj: Any) -> list[str]:
    """The paths of what the schema does not know, sorted; nothing is removed."""
    return _unknown(schema, obj, remove=False)


def _unknown(schema: Schema, obj: Any, *, remove: bool) -> list[str]:
    found: list[str] = []
    _walk(schema, obj, "", found, remove)
    found.sort()
    return found


def _walk(schema: Schema, value: Any, path: str, found: list[str], remove: bool) -> None:
    if type(value) is dict:
        _walk_map(schema, value, path, found, remove)
    elif type(value) is list and schema.items is not None:
        for index, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                _walk(schema.items, item, f"{path}[{index}]", found, remove)


def _walk_map(schema: Schema, value: dict[str, Any], path: str, found: list[str], remove: bool) -> None:
    unknown = None
    others = schema.element if "additionalProperties" in schema.source else None
    for name, item in value.items():
        inner = schema.fields[name] or others
        if inner is None:
            if not _keeps_unknown(schema):
                unknown = [name] if unknown is None else [*unknown, name]
        elif type(item) is dict or type(item) is list:
            _walk(inner, item, f"{path}.{name}" if path else name, found, remove)
    for name in unknown or ():
        found.append(f"{path}.{name}" if path else name)
        if remove:
            del value[name]


def _keeps_unknown(schema: Schema) -> bool:
    """A custom resource says so; a built-in struct without fields (a RawExtension) is whatever it is."""
    return schema.preserve_unknown or (bool(schema.name) and not schema.known)
