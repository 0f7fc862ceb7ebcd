"""Validation of the schemas of definitions, with the messages of the real server.

The checks of CEL rules are imported for the first definition that has rules: their compiler is large.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kubewright.api.cel import has_rules
from kubewright.cluster.crds._structure import structural_errors
from kubewright.cluster.crds._values import errors_of
from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid, not_supported, required
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["schema_errors"]

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


def schema_errors(schema: JSONObject, path: str, *, with_status: bool) -> Iterator[FieldError]:
    """Validates the schema of a version at that path."""
    if with_status and schema.get("type") != "object" and schema.get("type"):
        text = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        yield invalid(f"{path}.type", schema["type"], text)
    if schema.get("nullable"):
        yield forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    structural = structural_errors(schema, path)
    yield from structural
    defaults = [] if structural else list(_defaults(schema, path))
    yield from defaults
    yield from _openapi(schema, path)
    if not structural and not defaults and has_rules(schema):
        from kubewright.cluster.crds._cel_rules import cel_errors, check_available

        check_available(schema)
        yield from cel_errors(schema, path)


def _defaults(schema: JSONObject, path: str) -> Iterator[FieldError]:
    """Validates defaults against their own schema."""
    if schema.get("default") is not None:
        for error in errors_of(schema, schema["default"]):
            inside = error.field not in ("", "<nil>")
            yield replace(error, field=f"{path}.default.{error.field}" if inside else f"{path}.default")
        if has_rules(schema):
            from kubewright.cluster.crds._cel_rules import default_rule_errors

            yield from default_rule_errors(schema, f"{path}.default")
    for name, member in (schema.get("properties") or {}).items():
        yield from _defaults(member, f"{path}.properties[{name}]")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _defaults(schema[key], f"{path}.{key}")


def _openapi(schema: JSONObject, path: str) -> Iterator[FieldError]:
    type_ = schema.get("type") or ""
    if type_ and type_ not in _TYPES:
        yield not_supported(f"{path}.type", type_, list(_TYPES))
    yield from (forbidden(f"{path}.{key}", f"{key} is not supported") for key in _UNSUPPORTED if schema.get(key))
    if type_ == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", text)
    others = schema.get("additionalProperties")
    if schema.get("properties") and (others is False or isinstance(others, dict)):
        yield forbidden(f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive")
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        yield invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")
    yield from _map_type(schema, type_, path)
    yield from _list_type(schema, type_, path)
    if schema.get("x-kubernetes-validations"):
        from kubewright.cluster.crds._cel_rules import rule_shape_errors

        yield from rule_shape_errors(schema, path)
    for at, member in _members(schema):
        yield from _openapi(member, f"{path}.{at}")


def _members(schema: JSONObject) -> Iterator[tuple[str, JSONObject]]:
    for key in ("additionalProperties", "not", "items"):
        if isinstance(schema.get(key), dict):
            yield key, schema[key]
    for name, member in (schema.get("properties") or {}).items():
        yield f"properties[{name}]", member
    for key in ("allOf", "oneOf", "anyOf"):
        for number, branch in enumerate(schema.get(key) or ()):
            yield f"{key}[{number}]", branch


def _map_type(schema: JSONObject, type_: str, path: str) -> Iterator[FieldError]:
    kind = schema.get("x-kubernetes-map-type")
    if kind is None:
        return
    if type_ != "object":
        text = "must be object if x-kubernetes-map-type is specified"
        yield invalid(f"{path}.type", type_, text) if type_ else required(f"{path}.type", text)
    if kind not in ("atomic", "granular"):
        yield not_supported(f"{path}.x-kubernetes-map-type", kind, ["atomic", "granular"])


def _list_type(schema: JSONObject, type_: str, path: str) -> Iterator[FieldError]:
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or []
    items = schema.get("items") if isinstance(schema.get("items"), dict) else None
    if kind is not None and type_ != "array":
        text = "must be array if x-kubernetes-list-type is specified"
        yield invalid(f"{path}.type", type_, text) if type_ else required(f"{path}.type", text)
    elif kind == "set" and items is not None:
        yield from _set_items(items, path)
    if kind is not None and kind not in ("atomic", "set", "map"):
        yield not_supported(f"{path}.x-kubernetes-list-type", kind, ["atomic", "set", "map"])
    if keys and kind != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        at = f"{path}.x-kubernetes-list-type"
        yield required(at, text) if kind is None else invalid(at, kind, text)
    if kind == "map":
        yield from _map_items(items, keys, path)


def _set_items(items: JSONObject, path: str) -> Iterator[FieldError]:
    text = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and items.get("x-kubernetes-list-type", "atomic") != "atomic":
        yield invalid(f"{path}.items.x-kubernetes-list-type", items["x-kubernetes-list-type"], text)
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield invalid(f"{path}.items.x-kubernetes-map-type", items.get("x-kubernetes-list-type"), text)
    if items.get("nullable"):
        yield forbidden(f"{path}.items.nullable", "cannot be nullable when x-kubernetes-list-type is set")


def _map_items(items: JSONObject | None, keys: list[str], path: str) -> Iterator[FieldError]:
    if not keys:
        yield required(f"{path}.x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
        return
    if items.get("type") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(f"{path}.items.type", items.get("type", ""), text)
        return
    if items.get("nullable"):
        yield forbidden(f"{path}.items.nullable", "cannot be nullable when x-kubernetes-list-type is map")
    properties, seen = items.get("properties") or {}, set()
    for key in keys:
        at = f"{path}.items.properties[{key}]"
        if key not in properties:
            yield invalid(f"{path}.x-kubernetes-list-map-keys", keys, "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid(f"{at}.type", items["type"], text)
        if key in seen:
            yield invalid(f"{path}.x-kubernetes-list-map-keys", keys, "must not contain duplicate entries")
        seen.add(key)
        if properties.get(key, {}).get("nullable"):
            yield forbidden(
                f"{at}.nullable", "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            )
        if key in properties and "default" not in properties[key] and key not in (items.get("required") or ()):
            text = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            yield required(f"{at}.default", text)
