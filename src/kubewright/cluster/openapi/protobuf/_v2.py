"""OpenAPI v2 as protobuf, in the messages of gnostic's OpenAPIv2.proto, which client-go reads.

A document is a sequence of fields, and a field of messages may be written in several parts. `paths_v2` and
`definitions_v2` are such parts, so that each kind is encoded once.
"""

from __future__ import annotations

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

__all__ = ["definitions_v2", "head_v2", "paths_v2"]


def head_v2(document: dict[str, Any]) -> bytes:
    """Writes everything but the paths and definitions of a document."""
    return _document(document)


def paths_v2(paths: dict[str, Any]) -> bytes:
    """Writes a part of the paths."""
    return delimited(8, named(_path)(2, paths))


def definitions_v2(definitions: dict[str, Any]) -> bytes:
    """Writes a part of the definitions."""
    return delimited(9, named(_schema)(1, definitions))


def _schema(value: dict[str, Any]) -> bytes:
    return _schema_fields(value)


def _type(value: str) -> bytes:
    return text(1, value)


def _properties(value: dict[str, Any]) -> bytes:
    return named(_schema)(1, value)


def _items(value: dict[str, Any]) -> bytes:
    return delimited(1, _schema(value))


def _others(value: dict[str, Any] | bool) -> bytes:
    return chosen(2, value) if isinstance(value, bool) else delimited(1, _schema(value))


_external_docs: Final = object_of({"description": (1, text), "url": (2, text)}, 3)
_schema_fields: Final = object_of(
    {
        "$ref": (1, text),
        "format": (2, text),
        "title": (3, text),
        "description": (4, text),
        "default": (5, any_value),
        "multipleOf": (6, number),
        "maximum": (7, number),
        "exclusiveMaximum": (8, flag),
        "minimum": (9, number),
        "exclusiveMinimum": (10, flag),
        "maxLength": (11, flag),
        "minLength": (12, flag),
        "pattern": (13, text),
        "maxItems": (14, flag),
        "minItems": (15, flag),
        "uniqueItems": (16, flag),
        "maxProperties": (17, flag),
        "minProperties": (18, flag),
        "required": (19, each(text)),
        "enum": (20, each(any_value)),
        "additionalProperties": (21, inside(_others)),
        "type": (22, inside(_type)),
        "items": (23, inside(_items)),
        "properties": (25, inside(_properties)),
        "externalDocs": (29, inside(_external_docs)),
        "example": (30, any_value),
    },
    31,
)


def _response(value: dict[str, Any]) -> bytes:
    schema = delimited(2, delimited(1, _schema(value["schema"]))) if "schema" in value else b""
    return delimited(1, text(1, value["description"]) + schema)


def _responses(value: dict[str, Any]) -> bytes:
    return named(_response)(1, value)


_body_parameter: Final = object_of(
    {
        "description": (1, text),
        "name": (2, text),
        "in": (3, text),
        "required": (4, flag),
        "schema": (5, inside(_schema)),
    },
    6,
)
_query_parameter: Final = object_of(
    {
        "required": (1, flag),
        "in": (2, text),
        "description": (3, text),
        "name": (4, text),
        "type": (6, text),
        "uniqueItems": (20, flag),
    },
    23,
)
_path_parameter: Final = object_of(
    {
        "required": (1, flag),
        "in": (2, text),
        "description": (3, text),
        "name": (4, text),
        "type": (5, text),
        "uniqueItems": (19, flag),
    },
    22,
)


def _parameter(value: dict[str, Any]) -> bytes:
    """Writes a Parameter: the message of its location."""
    match value["in"]:
        case "body":
            return delimited(1, _body_parameter(value))
        case "query":
            return delimited(2, delimited(3, _query_parameter(value)))
        case _:
            return delimited(2, delimited(4, _path_parameter(value)))


def _parameter_or_reference(value: dict[str, Any]) -> bytes:
    return delimited(2, text(1, value["$ref"])) if "$ref" in value else delimited(1, _parameter(value))


_parameters: Final = each(inside(_parameter_or_reference))
_operation: Final = inside(
    object_of(
        {
            "tags": (1, each(text)),
            "description": (3, text),
            "operationId": (5, text),
            "produces": (6, each(text)),
            "consumes": (7, each(text)),
            "parameters": (8, _parameters),
            "responses": (9, inside(_responses)),
            "schemes": (10, each(text)),
        },
        13,
    )
)
_path: Final = object_of(
    {
        "get": (2, _operation),
        "put": (3, _operation),
        "post": (4, _operation),
        "delete": (5, _operation),
        "options": (6, _operation),
        "head": (7, _operation),
        "patch": (8, _operation),
        "parameters": (9, _parameters),
    },
    10,
)


def _shared_parameters(value: dict[str, Any]) -> bytes:
    return named(_parameter)(1, value)


def _requirement(value: dict[str, list[str]]) -> bytes:
    return named(lambda scopes: each(text)(1, scopes))(1, value)


def _security_definitions(value: dict[str, Any]) -> bytes:
    key = object_of({"type": (1, text), "name": (2, text), "in": (3, text), "description": (4, text)}, 5)
    return named(lambda scheme: delimited(2, key(scheme)))(1, value)


_document: Final = object_of(
    {
        "swagger": (1, text),
        "info": (2, inside(object_of({"title": (1, text), "version": (2, text)}, 7))),
        "parameters": (10, inside(_shared_parameters)),
        "security": (12, each(inside(_requirement))),
        "securityDefinitions": (13, inside(_security_definitions)),
    },
    16,
)
