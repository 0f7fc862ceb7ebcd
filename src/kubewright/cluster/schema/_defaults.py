"""Defaults of custom resources."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from kubewright.cluster.schema._node import Schema

__all__ = ["apply_defaults"]


def apply_defaults(schema: Schema, obj: Any) -> None:
    """Sets defaults of missing fields in place, and of fields that are null but not nullable.

    A default may be an object whose own fields have defaults: these are set, too. Metadata of embedded objects has no
    defaults.
    """
    if type(obj) is dict:
        for name, default in _defaults(schema).items():
            field = schema.fields[name]
            if name not in obj or (obj[name] is None and field is not None and not field.nullable):
                obj[name] = deepcopy(default)
        for name, value in obj.items():
            inner = _of_the_definition(schema, name)
            if inner is not None:
                obj[name] = _filled(inner, value)
    elif type(obj) is list and schema.items is not None:
        obj[:] = [_filled(schema.items, item) for item in obj]


def _filled(schema: Schema, value: Any) -> Any:
    if value is None and not schema.nullable and schema.default is not None:
        value = deepcopy(schema.default)
    if type(value) is dict or type(value) is list:
        apply_defaults(schema, value)
    return value


def _defaults(schema: Schema) -> dict[str, Any]:
    return {
        name: source["default"]
        for name, source in schema.known.items()
        if source.get("default") is not None and _of_the_definition(schema, name) is not None
    }


def _of_the_definition(schema: Schema, name: str) -> Schema | None:
    """Returns the schema of a member, unless it is a Go type (metadata), whose defaults are zero values."""
    inner = schema.fields[name]
    if inner is None:
        return schema.element if isinstance(schema.source.get("additionalProperties"), dict) else None
    return None if inner.name else inner
