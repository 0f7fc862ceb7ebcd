"""Definitions of custom resources that differ in everything their OpenAPI documents depend on."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["DEFINITIONS", "definition"]

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer"}


def definition(
    kind: str,
    *versions: dict[str, Any],
    group: str,
    scope: str = "Namespaced",
    plural: str = "",
    list_kind: str = "",
    **names: Any,
) -> dict[str, Any]:
    """Returns a definition. The first version is the stored one."""
    plural = plural or f"{kind.lower()}s"
    listed = {"listKind": list_kind} if list_kind else {}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), **listed, **names},
            "versions": [each | {"storage": number == 0} for number, each in enumerate(versions)],
        },
    }


def _version(name: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "served": True, "schema": {"openAPIV3Schema": schema}, **more}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


_SIMPLE: Final = _object(spec=_object(size=_NUMBER), status=_object(phase=_TEXT))

_DESCRIBED: Final = {
    "description": "Foo CRD for Testing",
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "description": "Specification of Foo",
            "properties": {
                "bars": {
                    "description": "List of Bars and their specs.",
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"description": "Name of Bar.", "type": "string"},
                            "age": {"description": "Age of Bar.", "type": "string"},
                            "feeling": {"type": "string", "enum": ["Great", "Down"]},
                            "bazs": {"description": "List of Bazs.", "type": "array", "items": _TEXT},
                        },
                    },
                }
            },
        },
        "status": {
            "description": "Status of Foo",
            "type": "object",
            "properties": {
                "bars": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "bar": {"type": "string"},
                            "available": {"type": "boolean"},
                            "quxType": {"type": "string", "pattern": "in-tree|out-of-tree"},
                        },
                    },
                }
            },
        },
    },
}

_PRESERVED_INSIDE: Final = _object(
    spec={"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"dummy": _TEXT}},
    status={
        "type": "object",
        "properties": {
            "free": {"x-kubernetes-preserve-unknown-fields": True},
            "list": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            "any": {"type": "array", "x-kubernetes-preserve-unknown-fields": True, "items": _TEXT},
            "number": {"type": "integer", "x-kubernetes-preserve-unknown-fields": True},
        },
    },
)

_EMBEDDED: Final = _object(
    spec=_object(
        pruned={
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": _object(a=_TEXT)},
            "required": ["spec"],
        },
        free={
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        named={
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "required": ["apiVersion", "data"],
            "properties": {
                "apiVersion": {"type": "string", "enum": ["v1"]},
                "kind": {"type": "string"},
                "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}},
                "data": {"type": "object", "additionalProperties": _TEXT},
            },
        },
        several={
            "type": "array",
            "items": {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
                "properties": {"spec": _object(a=_TEXT)},
            },
        },
    )
)

_NULLABLE: Final = _object(
    spec={
        "type": "object",
        "required": ["must", "may", "rest"],
        "properties": {
            "must": {"type": "string"},
            "may": {"type": "string", "nullable": True},
            "rest": {"type": "object", "nullable": True, "properties": {"a": _TEXT}, "required": ["a"]},
            "list": {"type": "array", "nullable": True, "items": _TEXT},
            "defaulted": {"type": "string", "nullable": True, "default": None},
            "either": {"x-kubernetes-int-or-string": True, "nullable": True},
            "map": {"type": "object", "additionalProperties": {"type": "string", "nullable": True}},
            "items": {"type": "array", "items": {"type": "object", "nullable": True, "properties": {"a": _TEXT}}},
        },
    }
)

_DEFAULTED: Final = _object(
    spec={
        "type": "object",
        "default": {},
        "properties": {
            "text": {"type": "string", "default": "x"},
            "empty": {"type": "string", "default": ""},
            "off": {"type": "boolean", "default": False},
            "zero": {"type": "integer", "default": 0},
            "part": {"type": "number", "default": 1.5},
            "list": {"type": "array", "items": _TEXT, "default": ["b", "a"]},
            "nested": {"type": "object", "properties": {"a": {"type": "integer", "default": 3}}, "default": {"a": 1}},
        },
    }
)

_EITHER: Final = _object(
    spec=_object(
        plain={"x-kubernetes-int-or-string": True},
        declared={"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        pattern={
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": "^[0-9]+$",
        },
        combined={
            "x-kubernetes-int-or-string": True,
            "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"minimum": 3}],
        },
        joined={"x-kubernetes-int-or-string": True, "oneOf": [{"minimum": 3}, {"maxLength": 2}]},
        defaulted={"x-kubernetes-int-or-string": True, "default": "50%"},
    )
)

_JUNCTORS: Final = _object(
    spec={
        "type": "object",
        "properties": {
            "a": _TEXT,
            "b": _NUMBER,
            "c": {"type": "array", "items": _TEXT},
            "d": {"type": "string", "not": {"enum": ["x"]}, "allOf": [{"minLength": 1}, {"pattern": "^a"}]},
        },
        "anyOf": [{"required": ["a"]}, {"properties": {"b": {"minimum": 2}}}],
        "oneOf": [{"required": ["c"]}, {"not": {"required": ["c"]}}],
        "allOf": [{"properties": {"c": {"items": {"maxLength": 3}}}}],
    }
)

_LISTS: Final = _object(
    spec={
        "type": "object",
        "x-kubernetes-map-type": "granular",
        "x-kubernetes-validations": [
            {"rule": "self.number >= 0", "message": "must not be negative", "fieldPath": ".number"},
            {
                "rule": "self.number == oldSelf.number",
                "reason": "FieldValueForbidden",
                "messageExpression": "self.number > 5 ? 'too large' : 'changed'",
            },
            {"rule": "!oldSelf.hasValue() || true", "optionalOldSelf": True},
        ],
        "properties": {
            "number": _NUMBER,
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": _TEXT, "maxItems": 4},
            "map": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name", "port"],
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {"name": _TEXT, "port": {"type": "integer", "default": 80}},
                },
            },
            "atomic": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "object"}},
            "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": _TEXT}},
        },
    }
)

_MAPS: Final = _object(
    spec=_object(
        open={"type": "object", "additionalProperties": True},
        typed={"type": "object", "additionalProperties": {"type": "object", "properties": {"a": _TEXT}}},
        bare={"type": "object"},
        free={"type": "object", "additionalProperties": {"x-kubernetes-preserve-unknown-fields": True}},
    )
)

_VALUES: Final = {
    "type": "object",
    "title": "A title",
    "description": "All value validations.",
    "externalDocs": {"description": "more", "url": "https://example.com/more"},
    "required": ["spec"],
    "properties": {
        "metadata": {
            "type": "object",
            "properties": {"name": {"type": "string", "maxLength": 20, "pattern": "^[a-z]+$"}},
        },
        "spec": {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 9,
            "example": {"when": "now"},
            "properties": {
                "when": {"type": "string", "format": "date-time"},
                "count": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 10, "multipleOf": 2},
                "part": {
                    "type": "number",
                    "minimum": 0.5,
                    "exclusiveMinimum": True,
                    "maximum": 1,
                    "exclusiveMaximum": True,
                },
                "text": {"type": "string", "minLength": 0, "maxLength": 5, "pattern": "^a*$", "title": "t"},
                "list": {"type": "array", "minItems": 1, "maxItems": 3, "items": _TEXT},
                "choice": {"type": "integer", "enum": [3, 1, 2]},
                "bytes": {"type": "string", "format": "byte", "example": "YQ=="},
                "$odd/name~": {"type": "boolean"},
                "": {"type": "boolean"},
            },
        },
    },
}

DEFINITIONS: Final[tuple[dict[str, Any], ...]] = (
    definition("Foo", _version("v1", _DESCRIBED, subresources={"status": {}}), group="described.example.com"),
    definition(
        "Waldo",
        _version(
            "v1", {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"spec": _object()}}
        ),
        group="preserved.example.com",
    ),
    definition("Inner", _version("v1beta1", _PRESERVED_INSIDE), group="preserved.example.com"),
    definition("Empty", _version("v1", {"type": "object"}), group="preserved.example.com", plural="empties"),
    definition("Envelope", _version("v1", _EMBEDDED), group="embedded.example.com"),
    definition("Nullable", _version("v1", _NULLABLE), group="nullable.example.com"),
    definition("Default", _version("v1", _DEFAULTED), group="values.example.com"),
    definition("Either", _version("v1", _EITHER), group="values.example.com"),
    definition("Junctor", _version("v1", _JUNCTORS), group="values.example.com"),
    definition("Value", _version("v1", _VALUES), group="values.example.com", scope="Cluster"),
    definition("Collection", _version("v1", _LISTS), group="lists.example.com"),
    definition("Map", _version("v1", _MAPS), group="lists.example.com"),
    definition(
        "Scaled",
        _version(
            "v1",
            _object(spec=_object(replicas=_NUMBER), status=_object(replicas=_NUMBER, selector=_TEXT)),
            subresources={
                "status": {},
                "scale": {
                    "specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas",
                    "labelSelectorPath": ".status.selector",
                },
            },
        ),
        group="scaled-group.example.com",
        scope="Cluster",
        plural="scaled",
        list_kind="ManyScaled",
        shortNames=["sc"],
        categories=["all"],
    ),
    definition(
        "Item",
        _version("v2", _SIMPLE, selectableFields=[{"jsonPath": ".spec.size"}, {"jsonPath": ".status.phase"}]),
        _version("v1", _object(spec=_object(length=_NUMBER)), deprecated=True),
        _version("v1alpha1", _object(spec={"x-kubernetes-preserve-unknown-fields": True})),
        _version("v3", _SIMPLE) | {"served": False},
        group="versions.example.com",
    ),
    definition("Other", _version("v1", _SIMPLE), group="versions.example.com"),
)
