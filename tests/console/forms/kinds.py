"""A schema with every type of field."""

from __future__ import annotations

from typing import Any

GROUP = "forms.example.com"


def definition(plural: str, kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the definition of a kind with this schema."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


EVERYTHING: dict[str, Any] = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "required": ["size", "title"],
            "x-kubernetes-validations": [
                {"rule": "self.size <= 5 || has(self.reason)", "message": "a large one needs a reason"},
                {
                    "rule": "!has(self.ratio) || self.ratio <= 1.0",
                    "message": "a ratio is at most 1",
                    "fieldPath": ".ratio",
                },
            ],
            "properties": {
                "title": {
                    "type": "string",
                    "minLength": 2,
                    "maxLength": 20,
                    "pattern": "^[a-z]",
                    "description": "Its title.",
                },
                "size": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 10},
                "reason": {"type": "string"},
                "ratio": {"type": "number", "minimum": 0},
                "step": {"type": "integer", "format": "int64", "multipleOf": 5},
                "enabled": {"type": "boolean", "default": True},
                "color": {"type": "string", "enum": ["red", "green", "<b>blue</b>"], "default": "green"},
                "note": {"type": "string", "nullable": True},
                "since": {"type": "string", "format": "date-time"},
                "fixed": {
                    "type": "string",
                    "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is fixed for good"}],
                },
                "port": {"x-kubernetes-int-or-string": True},
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "maxItems": 3},
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string"},
                            "number": {"type": "integer", "minimum": 1, "maximum": 65535},
                            "hosts": {"type": "array", "items": {"type": "string"}},
                        },
                    },
                },
                "limits": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
                "groups": {
                    "type": "object",
                    "additionalProperties": {"type": "array", "items": {"type": "string"}},
                },
                "nested": {
                    "type": "object",
                    "properties": {
                        "inner": {"type": "object", "properties": {"deep": {"type": "string", "maxLength": 5}}},
                        "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    },
                },
                "open": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {"known": {"type": "string"}},
                },
            },
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}


def an_object(name: str = "one", namespace: str = "default", /, **spec: Any) -> dict[str, Any]:
    """Returns a valid object with further fields in its spec."""
    return {
        "apiVersion": "forms.example.com/v1",
        "kind": "Everything",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"title": "one", "size": 1, **spec},
    }
