"""Turns one position of a schema into an annotation: the type, its constraints, and a `Schema` for the rest.

The constraints are applied by the same code that later generates the schema of the class (`kubewright.api.schema`). The
result is compared with the original schema, and a `Schema` contains the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kubewright.api import (
    Choices,
    EmbeddedResource,
    Example,
    Format,
    Items,
    Length,
    ListType,
    MapType,
    MultipleOf,
    Pattern,
    PreserveUnknown,
    Properties,
    Range,
    Rule,
)
from kubewright.api.schema import Constraint, Shape, add_constraint, parse_path
from kubewright.codegen._classes import Annotation
from kubewright.regex import QUANTITY

__all__ = ["FIELD_MEMBERS", "add_rules", "difference", "list_type_holds", "scalar", "unsaid"]

FIELD_MEMBERS: Final = frozenset({"description", "nullable", "default"})
"""Members of a schema that belong to the field or element, not to its type."""

_BELOW: Final = {"list": "items", "dict": "additionalProperties", "": "properties"}  # compared where they are made
_ANYTHING: Final = "x-kubernetes-preserve-unknown-fields"


def scalar(node: Mapping[str, Any]) -> Annotation:
    """Returns the annotation for a string, number, boolean, int-or-string or any JSON, without constraints."""
    if node.get("x-kubernetes-int-or-string"):
        said: dict[str, Any] = {"x-kubernetes-int-or-string": True}
        if node.get("pattern") == QUANTITY:
            return Annotation(text="Quantity", shape=Shape(category="quantity"), said=said | {"pattern": QUANTITY})
        return Annotation(text="IntOrString", shape=Shape(category="int-or-string"), said=said)
    type_ = node.get("type")
    if type_ in ("string", "integer") and _is_literal(node, type_):
        shape = Shape(category="enum", type=type_)
        return Annotation(text="Literal", shape=shape, said={"type": type_, "enum": list(node["enum"])})
    if type_ == "string" and node.get("format") in ("date-time", "byte"):
        text = "Time" if node["format"] == "date-time" else "bytes"
        said = {"type": "string", "format": node["format"]}
        return Annotation(text=text, shape=Shape(category="formatted", type="string"), said=said)
    if type_ in ("string", "boolean"):
        text = "str" if type_ == "string" else "bool"
        return Annotation(text=text, shape=Shape(category=type_, type=type_), said={"type": type_})
    if type_ in ("integer", "number"):
        text, format_ = ("int", "int64") if type_ == "integer" else ("float", "double")
        said = {"type": type_, "format": format_}
        return Annotation(text=text, shape=Shape(category=type_, type=type_), said=said)
    return Annotation(text="JSON", shape=Shape(category="any"), said={"nullable": True, _ANYTHING: True})


def _is_literal(node: Mapping[str, Any], type_: str) -> bool:
    """Whether a `Literal` can express the enum. The server rejects null for enums, so a nullable one cannot."""
    values = node.get("enum")
    wanted = str if type_ == "string" else int
    if not isinstance(values, list) or not values or node.get("nullable"):
        return False
    return all(type(value) is wanted for value in values) and len(set(values)) == len(values)


def add_rules(annotation: Annotation, node: Mapping[str, Any], *, old_self: bool) -> None:
    """Adds the constraints that the schema has at this position. `unsaid` returns the rest."""
    for make in _candidates(node, annotation.said):
        said = dict(annotation.said)
        try:
            rules = make()
            for rule in rules:
                add_constraint(said, annotation.shape, rule, "", old_self=old_self)
        except (TypeError, ValueError, KeyError, AttributeError):
            continue  # no such constraint, or not for this type: it goes into a `Schema`
        changed = {name for name in said.keys() | annotation.said.keys() if said.get(name) != annotation.said.get(name)}
        if all(said.get(name) == node.get(name) for name in changed - {_BELOW.get(annotation.text)}):
            annotation.rules += rules
            annotation.said = said


def _candidates(node: Mapping[str, Any], said: Mapping[str, Any]) -> Iterator[Callable[[], list[Constraint]]]:
    """Yields constraints that may express members of the schema."""
    get = node.get
    if get("format") != said.get("format"):
        yield lambda: [Format(get("format"))]
    if "minimum" in node or "maximum" in node:
        exclusive = bool(get("exclusiveMinimum")), bool(get("exclusiveMaximum"))
        yield lambda: [Range(get("minimum"), get("maximum"), *exclusive)]
    if "multipleOf" in node:
        yield lambda: [MultipleOf(node["multipleOf"])]
    if "minLength" in node or "maxLength" in node:
        yield lambda: [Length(get("minLength"), get("maxLength"))]
    if "pattern" in node and "pattern" not in said:
        yield lambda: [Pattern(node["pattern"])]
    if "enum" in node and "enum" not in said and not get("nullable"):
        yield lambda: [Choices(*node["enum"])]
    if "minItems" in node or "maxItems" in node:
        yield lambda: [Items(get("minItems"), get("maxItems"))]
    if "minProperties" in node or "maxProperties" in node:
        yield lambda: [Properties(get("minProperties"), get("maxProperties"))]
    if "x-kubernetes-list-type" in node and list_type_holds(node):
        yield lambda: [ListType(node["x-kubernetes-list-type"], get("x-kubernetes-list-map-keys") or ())]
    if "x-kubernetes-map-type" in node:
        yield lambda: [MapType(node["x-kubernetes-map-type"])]
    if "example" in node:
        yield lambda: [Example(node["example"])]
    if get("x-kubernetes-embedded-resource") and get(_ANYTHING) and "properties" not in node:
        yield lambda: [EmbeddedResource()]
    elif get(_ANYTHING) and _ANYTHING not in said:
        yield lambda: [PreserveUnknown()]
    if "x-kubernetes-validations" in node:
        yield lambda: [_rule(rule) for rule in node["x-kubernetes-validations"]]


def _rule(rule: Mapping[str, Any]) -> Rule:
    names = {
        "rule": "rule",
        "message": "message",
        "messageExpression": "message_expression",
        "reason": "reason",
        "fieldPath": "field_path",
        "optionalOldSelf": "optional_old_self",
    }
    if "fieldPath" in rule:
        parse_path(rule["fieldPath"])  # raises for a path that `@resource` cannot check
    return Rule(**{names[name]: value for name, value in rule.items()})


def list_type_holds(node: Mapping[str, Any]) -> bool:
    """Whether the elements are valid for the list type, as `@resource` checks it."""
    items = node.get("items") or {}
    if node["x-kubernetes-list-type"] == "set":
        atomic = "atomic" in (items.get("x-kubernetes-list-type"), items.get("x-kubernetes-map-type"))
        return not items.get("nullable") and (items.get("type") in ("string", "integer", "number", "boolean") or atomic)
    if node["x-kubernetes-list-type"] != "map":
        return True
    properties = items.get("properties") or {}
    required = items.get("required") or ()
    return not items.get("nullable") and all(
        properties.get(key, {}).get("type") in ("string", "integer", "number", "boolean")
        and not properties[key].get("nullable")
        and (key in required or "default" in properties[key])
        for key in node.get("x-kubernetes-list-map-keys") or ()
    )


def unsaid(annotation: Annotation, node: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the members for a `Schema`, so that the annotation produces this schema. Ignores `FIELD_MEMBERS`."""
    return difference(annotation.said, node, ignored=FIELD_MEMBERS | {_BELOW.get(annotation.text, "")})


def difference(
    said: Mapping[str, Any], wanted: Mapping[str, Any], *, ignored: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Returns the members for a `Schema` that turns one schema into the other; None removes a member."""
    return {
        name: wanted.get(name)
        for name in {**wanted, **said}
        if name not in ignored and said.get(name) != wanted.get(name)
    }
