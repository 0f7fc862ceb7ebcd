"""The schema of a custom resource as the server publishes it, in OpenAPI v3 and v2.

The server reads a definition's schema into its structural type, which drops empty values, and writes that again. For
v2 it removes everything that older versions of kubectl cannot read: junctors, nullable values, and the properties of
objects with unknown fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["DEFINITIONS", "SCHEMAS", "published_v2", "published_v3"]

SCHEMAS: Final = "#/components/schemas/"
"""The prefix of references in OpenAPI v3."""
DEFINITIONS: Final = "#/definitions/"
"""The prefix of references in OpenAPI v2."""

_Schema = dict[str, Any]
_OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_TEXT: Final = {"type": "string"}
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_EITHER: Final = ({"type": "integer"}, {"type": "string"})
_JUNCTORS: Final = ("allOf", "anyOf", "oneOf")
# Values that are dropped if they are empty or false, and those that are kept even if they are zero.
_UNLESS_EMPTY: Final = (
    "description",
    "type",
    "format",
    "title",
    "pattern",
    "nullable",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "uniqueItems",
    "enum",
    "required",
    "externalDocs",
    _PRESERVE,
    _EMBEDDED,
    _INT_OR_STRING,
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
)
_UNLESS_ABSENT: Final = (
    "default",
    "example",
    "maximum",
    "minimum",
    "multipleOf",
    "maxLength",
    "minLength",
    "maxItems",
    "minItems",
    "maxProperties",
    "minProperties",
)


def published_v3(source: Mapping[str, Any]) -> _Schema:
    """Returns a definition's schema as in the OpenAPI v3 document, with the fields of all objects."""
    schema = _structural(source)
    schema.setdefault("properties", {}).update(_object_fields(SCHEMAS))
    _embed(schema, SCHEMAS)
    return schema


def published_v2(source: Mapping[str, Any]) -> _Schema:
    """Returns a definition's schema as in the OpenAPI v2 document.

    An object that preserves unknown fields has no properties, because kubectl would reject all others.
    """
    if source.get(_PRESERVE):
        return {"type": "object"}
    schema = _structural(source)
    _convert_to_v2(schema)
    schema.setdefault("properties", {}).update(_object_fields(DEFINITIONS))
    _embed(schema, DEFINITIONS)
    return schema


def _structural(source: Mapping[str, Any], *, nested: bool = False) -> _Schema:
    """Returns a schema without empty values. `nested` schemas are those inside junctors."""
    schema: _Schema = {name: value for name in _UNLESS_EMPTY if (value := source.get(name))}
    for name in _UNLESS_ABSENT:
        if (value := source.get(name)) is not None:
            schema[name] = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(items := source.get("items"), Mapping):
        schema["items"] = _structural(items, nested=nested)
    if properties := source.get("properties"):
        schema["properties"] = {name: _structural(each, nested=nested) for name, each in sorted(properties.items())}
    if not nested and (others := source.get("additionalProperties")) is not None:
        schema["additionalProperties"] = _structural(others) if isinstance(others, Mapping) else others
    for name in _JUNCTORS:
        if several := source.get(name):
            schema[name] = [_structural(each, nested=True) for each in several]
    if isinstance(negated := source.get("not"), Mapping):
        schema["not"] = _structural(negated, nested=True)
    if not nested and schema.get(_INT_OR_STRING):
        _unfold(schema)
    return schema


def _unfold(schema: _Schema) -> None:
    """Adds the types of an int-or-string, unless the schema declares them."""
    either = [dict(each) for each in _EITHER]
    any_of, all_of = schema.get("anyOf"), schema.get("allOf")
    if any_of == either or (all_of and all_of[0].get("anyOf") == either):
        return
    if any_of is None:
        schema["anyOf"] = either
    else:
        schema["allOf"] = [{"anyOf": either}, *(all_of or ())]


def _convert_to_v2(schema: _Schema) -> None:
    # The order of the steps is that of the server: what one removes, the next does not see.
    for name in (*_JUNCTORS, "not", "default"):
        schema.pop(name, None)
    preserves = schema.get(_PRESERVE)
    if (nullable := schema.pop("nullable", False)) or preserves:
        schema.pop("items", None)
        schema.pop("properties", None)
    if nullable or (schema.get("type") == "array" and "items" not in schema):
        schema.pop("type", None)
    if preserves and schema.get("type") == "object":
        del schema["type"]
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    hidden = {name for name, each in properties.items() if each.get("nullable")}
    if isinstance(others, dict) and others.get("nullable"):
        hidden.update(schema.get("required", ()))
    if required := [name for name in schema.pop("required", ()) if name not in hidden]:
        schema["required"] = required
    for each in (*properties.values(), schema.get("items"), others):
        if isinstance(each, dict):
            _convert_to_v2(each)


def _object_fields(prefix: str) -> _Schema:
    """Returns the schemas of apiVersion, kind and metadata. OpenAPI v3 allows nothing beside a reference."""
    reference = {"$ref": prefix + _OBJECT_META}
    metadata = {"allOf": [reference]} if prefix == SCHEMAS else reference
    return {"apiVersion": _TEXT, "kind": _TEXT, "metadata": metadata}


def _embed(schema: _Schema, prefix: str) -> None:
    """Adds the fields of all objects to embedded resources."""
    for each in (*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(each, dict):
            _embed(each, prefix)
    if not schema.get(_EMBEDDED) or (schema.get(_PRESERVE) and prefix == DEFINITIONS):
        return
    schema.setdefault("properties", {}).update(_object_fields(prefix))
    required = schema.get("required", [])
    schema["required"] = [*required, *(name for name in ("kind", "apiVersion") if name not in required)]
