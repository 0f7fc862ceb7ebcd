"""Validation that a schema is structural, with the messages of the real server.

A structural schema specifies every type once, outside of `allOf`, `anyOf`, `oneOf` and `not`, so that the server knows
what to prune and to default. `structural_errors` returns the violations in the server's order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal, TypeAlias

from kubewright.cluster.machinery._failures import unsupported
from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid, required
from kubewright.regex import EngineMissing, InvalidPattern, check_pattern, has_engine

__all__ = ["structural_errors"]

Level: TypeAlias = Literal["root", "item", "field"]

_TYPELESS: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_JUNCTORS: Final = ("allOf", "anyOf", "oneOf", "not")
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
# Fields that are allowed only outside of value validations: key, whether an empty value is allowed, and message.
_ONCE: Final = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)


def structural_errors(schema: dict[str, Any], path: str) -> list[FieldError]:
    """Yields the violations of the schema at `path`."""
    found = [*_invariants(schema, "root", path), *_completeness(schema, path)]
    return sorted(found, key=str)


def _invariants(schema: dict[str, Any], level: Level, path: str) -> Iterator[FieldError]:
    type_, items = schema.get("type") or "", schema.get("items")
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    preserving = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    either = bool(schema.get("x-kubernetes-int-or-string"))
    if type_ == "array" and items is None:
        yield required(f"{path}.items", "must be specified")
    if isinstance(items, dict):
        yield from _invariants(items, "item", f"{path}.items")
    properties = schema.get("properties") or {}
    for name, member in properties.items():
        yield from _invariants(member, "field", f"{path}.properties[{name}]")
    others = schema.get("additionalProperties")
    if others is not None:
        if level == "root":
            yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
        if isinstance(others, dict):
            yield from _invariants(others, "field", f"{path}.additionalProperties")
        if embedded:
            yield forbidden(f"{path}.additionalProperties", "must not be used if x-kubernetes-embedded-resource is set")
    if either and preserving:
        text = "must be false if x-kubernetes-int-or-string is true"
        yield invalid(f"{path}.x-kubernetes-preserve-unknown-fields", True, text)
    if either and embedded:
        text = "must be false if x-kubernetes-int-or-string is true"
        yield invalid(f"{path}.x-kubernetes-embedded-resource", True, text)
    yield from _value_rules(schema, path, either=either)
    if embedded and type_ != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(f"{path}.type", type_, text) if type_ else required(f"{path}.type", text)
    elif not type_ and not either and not preserving:
        yield required(f"{path}.type", _TYPELESS[level])
    if level == "root" and type_ and type_ != "object":
        yield invalid(f"{path}.type", type_, "must be object at the root")
    if level == "root" or embedded:
        yield from _own_fields(properties, path)
    if "metadata" in properties:
        yield from _metadata(
            properties["metadata"], level, f"{path}.properties[metadata]", checked=level == "root" or embedded
        )
    if embedded and not preserving and not properties:
        text = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        yield required(f"{path}.properties", text)


def _own_fields(properties: dict[str, Any], path: str) -> Iterator[FieldError]:
    for name in ("kind", "apiVersion"):
        if name in properties and properties[name].get("type") != "string":
            yield invalid(f"{path}.properties[{name}].type", properties[name].get("type", ""), "must be string")


def _metadata(schema: dict[str, Any], level: Level, path: str, *, checked: bool) -> Iterator[FieldError]:
    if checked and schema.get("type") != "object":
        yield invalid(f"{path}.type", schema.get("type", ""), "must be object")
    if level == "root":
        named = set(schema.get("properties") or {}) <= {"name", "generateName"}
        if not named or set(schema) - {"type", "properties", "default", "description"}:
            text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden(path, text)


def _value_rules(schema: dict[str, Any], path: str, *, either: bool = False) -> Iterator[FieldError]:
    any_of, all_of = schema.get("anyOf") or [], schema.get("allOf") or []
    if not (either and any_of == _INT_OR_STRING):
        for number, branch in enumerate(any_of):
            yield from _nested(branch, f"{path}.anyOf[{number}]")
    for number, branch in enumerate(all_of):
        pattern = either and number == 0 and branch.get("anyOf") == _INT_OR_STRING
        yield from _nested({**branch, "anyOf": []} if pattern else branch, f"{path}.allOf[{number}]")
    for number, branch in enumerate(schema.get("oneOf") or ()):
        yield from _nested(branch, f"{path}.oneOf[{number}]")
    if isinstance(schema.get("not"), dict):
        yield from _nested(schema["not"], f"{path}.not")
    pattern_text = schema.get("pattern")
    if pattern_text:
        if not has_engine(pattern_text):
            raise unsupported(f"patterns as it is installed: {EngineMissing()}")
        try:
            check_pattern(pattern_text)
        except InvalidPattern as error:
            text = f"must be a valid regular expression, but isn't: {error}"
            yield invalid(f"{path}.pattern", pattern_text, text)


def _nested(schema: dict[str, Any], path: str) -> Iterator[FieldError]:
    yield from _value_rules(schema, path)
    if isinstance(schema.get("items"), dict):
        yield from _nested(schema["items"], f"{path}.items")
    properties = schema.get("properties") or {}
    for name, member in properties.items():
        yield from _nested(member, f"{path}.properties[{name}]")
    for key, complaint in _ONCE:
        if schema.get(key):
            yield forbidden(f"{path}.{key}", complaint)
    if "metadata" in properties:
        yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _completeness(schema: dict[str, Any], path: str) -> Iterator[FieldError]:
    """Checks that fields in the value validations of the root are specified outside of them, too."""
    yield from _specified(schema, {key: value for key, value in schema.items() if key in _JUNCTORS}, path, path)


def _specified(outer: dict[str, Any] | None, inner: dict[str, Any], path: str, source: str) -> Iterator[FieldError]:
    outer = outer or {}
    for key in ("allOf", "anyOf", "oneOf"):
        for number, branch in enumerate(inner.get(key) or ()):
            yield from _specified(outer, branch, path, f"{source}.{key}[{number}]")
    if isinstance(inner.get("not"), dict):
        yield from _specified(outer, inner["not"], path, f"{source}.not")
    if isinstance(inner.get("items"), dict):
        if not isinstance(outer.get("items"), dict):
            yield required(f"{path}.items", f"because it is defined in {source}.items")
        else:
            yield from _specified(outer["items"], inner["items"], f"{path}.items", f"{source}.items")
    known = outer.get("properties") or {}
    for name, member in (inner.get("properties") or {}).items():
        if name not in known:
            yield required(f"{path}.properties[{name}]", f"because it is defined in {source}.properties[{name}]")
        else:
            member_path = f"properties[{name}]"
            yield from _specified(known[name], member, f"{path}.{member_path}", f"{source}.{member_path}")
