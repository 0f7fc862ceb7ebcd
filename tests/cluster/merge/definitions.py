"""A custom resource with every kind of list and map, in two versions that differ in atomicity."""

from __future__ import annotations

from typing import Any

GROUP = "merge.example.com"
_STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}
_PORT = {
    "type": "object",
    "required": ["port"],
    "properties": {
        "port": {"type": "integer"},
        "protocol": {"type": "string", "default": "TCP"},
        "name": {"type": "string"},
    },
}
SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "text": {"type": "string"},
        "flag": {"type": "boolean"},
        "number": {"type": "number"},
        "defaulted": {"type": "string", "default": "unset"},
        "nullable": {"type": "string", "nullable": True},
        "either": {"x-kubernetes-int-or-string": True},
        "struct": {
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "b": {"type": "string"},
                "deeper": {"type": "object", "properties": {"c": {"type": "string"}, "d": {"type": "string"}}},
            },
        },
        "atomicStruct": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        },
        "map": _STRINGS,
        "atomicMap": _STRINGS | {"x-kubernetes-map-type": "atomic"},
        "mapOfStructs": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            },
        },
        "list": {"type": "array", "items": {"type": "string"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "numbers": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}},
        "items": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "value": {"type": "string"},
                    "other": {"type": "string"},
                    "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                },
            },
        },
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": _PORT,
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "anything": {"x-kubernetes-preserve-unknown-fields": True},
        "template": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    },
}
STATUS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "phase": {"type": "string"},
        "replicas": {"type": "integer"},
        "conditions": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": {
                "type": "object",
                "required": ["type"],
                "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
            },
        },
    },
}


def _schema(**changes: Any) -> dict[str, Any]:
    properties = {name: value | changes.get(name, {}) for name, value in SPEC["properties"].items()}
    return {"type": "object", "properties": {"spec": SPEC | {"properties": properties}, "status": STATUS}}


# In v2 the map and the struct are atomic, and the list is a set.
VERSIONS: dict[str, dict[str, Any]] = {
    f"{GROUP}/v1": _schema(),
    f"{GROUP}/v2": _schema(
        map={"x-kubernetes-map-type": "atomic"},
        struct={"x-kubernetes-map-type": "atomic"},
        list={"x-kubernetes-list-type": "set"},
    ),
}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"widgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": api_version.rpartition("/")[2],
                "served": True,
                "storage": api_version.endswith("v1"),
                "schema": {"openAPIV3Schema": schema},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
            }
            for api_version, schema in VERSIONS.items()
        ],
    },
}
