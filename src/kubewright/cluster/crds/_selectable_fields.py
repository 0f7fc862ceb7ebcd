"""Validation of the selectable fields of a definition: they are simple paths to fields of the schema."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from kubewright.cluster.machinery._field_errors import FieldError, duplicate, invalid, required, too_many
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["selectable_field_errors"]

_MAX_SELECTABLE_FIELDS: Final = 8
_TYPES: Final = ("string", "boolean", "integer")
_TOKEN: Final = re.compile(r"[.\[\]]|[^.\[\]]+")


class _InvalidPath(Exception):
    """A path that refers to no field."""


def selectable_field_errors(versions: list[JSONObject]) -> Iterator[FieldError]:
    """Validates the selectable fields of all versions.

    The server moves schemas that are equal in all versions, and likewise selectable fields, to the top level of the
    definition. It then misses a schema beside the fields if only one of the two was moved.
    """
    schemas: list[Any] = [(version.get("schema") or {}).get("openAPIV3Schema") for version in versions]
    fields = [version.get("selectableFields") or [] for version in versions]
    one_schema, one_list = all(each == schemas[0] for each in schemas), all(each == fields[0] for each in fields)
    if one_list:
        if fields and fields[0]:
            path = "spec.selectableFields"
            if one_schema and schemas[0]:
                yield from _errors(fields[0], schemas[0], path)
            else:
                yield invalid(path, "", "may only be set when validations.schema is included")
        return
    for number, given in enumerate(fields):
        path = f"spec.versions[{number}].selectableFields"
        if given and (one_schema or not schemas[number]):
            yield invalid(path, "", "may only be set when `version.schema.openAPIV3Schema` is not included")
        elif given:
            yield from _errors(given, schemas[number], path)


def _errors(fields: list[JSONObject], schema: JSONObject, path: str) -> Iterator[FieldError]:
    known: set[str] = set()
    for number, field in enumerate(fields):
        where, given = f"{path}[{number}].jsonPath", field.get("jsonPath") or ""
        if not given:
            yield required(where)
            continue
        try:
            found = _followed(given, schema)
        except _InvalidPath as problem:
            yield invalid(where, given, f"is an invalid path: {problem}")
            continue
        if given.startswith(".metadata."):
            yield invalid(where, given, "must not point to fields in metadata")
        if not isinstance(found, dict) or found.get("type") not in _TYPES:
            text = "must point to a field of type string, boolean or integer. Enum string fields and strings with"
            yield invalid(where, given, f"{text} formats are allowed.")
        if given in known:
            yield duplicate(where, given)
        known.add(given)
    if len(known) > _MAX_SELECTABLE_FIELDS:
        yield too_many(path, len(known), _MAX_SELECTABLE_FIELDS)


def _followed(path: str, schema: Any) -> Any:
    """Returns the schema of the field. Raises `_InvalidPath`."""
    tokens = iter(_TOKEN.findall(path))
    for separator in tokens:
        if separator == "[":
            raise _InvalidPath("array notation is not allowed")
        if separator != ".":
            raise _InvalidPath(f"expected [ or . but got: {separator}")
        name = next(tokens, None)
        if name is None:
            raise _InvalidPath("unexpected end of JSON path")
        properties, others = schema.get("properties"), schema.get("additionalProperties")
        if properties is None and not isinstance(others, dict):
            raise _InvalidPath("does not refer to a valid field")
        if properties is not None and name not in properties:
            raise _InvalidPath("does not refer to a valid field")
        schema = others if properties is None else properties[name]
    return schema
