"""OpenAPI v3 as protobuf, in the messages of gnostic's OpenAPIv3.proto."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubewright.cluster.openapi.protobuf._wire import (
    any_value,
    chosen,
    delimited,
    each,
    flag,
    inside,
    named,
    number,
    object_of,
    text,
)

__all__ = ["parts_v3"]


def parts_v3(document: dict[str, Any]) -> Iterator[bytes]:
    """Yields a document in parts: each path and each schema is one, so that a caller can pause between them."""
    yield _head(document)
    for name, item in document.get("paths", {}).items():
        yield delimited(4, named(_path)(1, {name: item}))
    components = document.get("components", {})
    for name, schema in components.get("schemas", {}).items():
        yield delimited(5, delimited(1, named(_schema_or_reference)(1, {name: schema})))
    if schemes := components.get("securitySchemes"):
        yield delimited(5, delimited(7, named(lambda value: delimited(1, _security_scheme(value)))(1, schemes)))


def _schema(value: dict[str, Any]) -> bytes:
    return _schema_fields(value)


def _schema_or_reference(value: dict[str, Any]) -> bytes:
    if "$ref" in value:
        return delimited(2, text(1, value["$ref"]) + text(3, value.get("description", "")))
    return delimited(1, _schema(value))


def _items(value: dict[str, Any]) -> bytes:
    return delimited(1, _schema_or_reference(value))


def _properties(value: dict[str, Any]) -> bytes:
    return named(_schema_or_reference)(1, value)


def _others(value: dict[str, Any] | bool) -> bytes:
    return chosen(2, value) if isinstance(value, bool) else delimited(1, _schema_or_reference(value))


def _default(value: Any) -> bytes:
    """Writes a default value. The message has no field for arrays and objects; the server leaves it empty, too."""
    if isinstance(value, bool):
        return chosen(2, value)
    if isinstance(value, int | float):
        return chosen(1, float(value))
    return chosen(3, value) if isinstance(value, str) else b""


_external_docs: Final = object_of({"description": (1, text), "url": (2, text)}, 3)
_schemas: Final = each(inside(_schema_or_reference))
_schema_fields: Final = object_of(
    {
        "nullable": (1, flag),
        "externalDocs": (6, inside(_external_docs)),
        "example": (7, any_value),
        "title": (9, text),
        "multipleOf": (10, number),
        "maximum": (11, number),
        "exclusiveMaximum": (12, flag),
        "minimum": (13, number),
        "exclusiveMinimum": (14, flag),
        "maxLength": (15, flag),
        "minLength": (16, flag),
        "pattern": (17, text),
        "maxItems": (18, flag),
        "minItems": (19, flag),
        "uniqueItems": (20, flag),
        "maxProperties": (21, flag),
        "minProperties": (22, flag),
        "required": (23, each(text)),
        "enum": (24, each(any_value)),
        "type": (25, text),
        "allOf": (26, _schemas),
        "oneOf": (27, _schemas),
        "anyOf": (28, _schemas),
        "not": (29, inside(_schema)),
        "items": (30, inside(_items)),
        "properties": (31, inside(_properties)),
        "additionalProperties": (32, inside(_others)),
        "default": (33, inside(_default)),
        "description": (34, text),
        "format": (35, text),
    },
    36,
)

_media_type: Final = object_of({"schema": (1, inside(_schema_or_reference))}, 5)


def _media_types(value: dict[str, Any]) -> bytes:
    return named(_media_type)(1, value)


_response: Final = object_of({"description": (1, text), "content": (3, inside(_media_types))}, 5)


def _responses(value: dict[str, Any]) -> bytes:
    return named(lambda response: delimited(1, _response(response)))(2, value)


_body: Final = object_of({"description": (1, text), "content": (2, inside(_media_types)), "required": (3, flag)}, 4)


def _body_or_reference(value: dict[str, Any]) -> bytes:
    return delimited(1, _body(value))


_parameter: Final = object_of(
    {
        "name": (1, text),
        "in": (2, text),
        "description": (3, text),
        "required": (4, flag),
        "schema": (10, inside(_schema_or_reference)),
    },
    14,
)


def _parameter_or_reference(value: dict[str, Any]) -> bytes:
    return delimited(1, _parameter(value))


_parameters: Final = each(inside(_parameter_or_reference))
_operation: Final = inside(
    object_of(
        {
            "tags": (1, each(text)),
            "description": (3, text),
            "operationId": (5, text),
            "parameters": (6, _parameters),
            "requestBody": (7, inside(_body_or_reference)),
            "responses": (8, inside(_responses)),
        },
        13,
    )
)
_path: Final = object_of(
    {
        "get": (4, _operation),
        "put": (5, _operation),
        "post": (6, _operation),
        "delete": (7, _operation),
        "options": (8, _operation),
        "head": (9, _operation),
        "patch": (10, _operation),
        "parameters": (13, _parameters),
    },
    14,
)
_security_scheme: Final = object_of(
    {"type": (1, text), "description": (2, text), "name": (3, text), "in": (4, text)}, 9
)


def _requirement(value: dict[str, list[str]]) -> bytes:
    return named(lambda scopes: each(text)(1, scopes))(1, value)


_head: Final = object_of(
    {
        "openapi": (1, text),
        "info": (2, inside(object_of({"title": (1, text), "version": (6, text)}, 7))),
        "security": (6, each(inside(_requirement))),
    },
    9,
)
