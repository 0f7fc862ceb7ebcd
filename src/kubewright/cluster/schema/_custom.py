"""Schemas of custom resources, from CustomResourceDefinitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubewright.cluster.schema._builtin import definition_schema
from kubewright.cluster.schema._node import Schema, read

__all__ = ["OBJECT_META", "custom_openapi", "custom_schema"]

OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_OWN: Final[dict[str, dict[str, Any]]] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"allOf": [{"$ref": f"#/components/schemas/{OBJECT_META}"}]},
}
_NAMING: Final = ("kind", "apiVersion")
# Keywords whose value is a schema, or a map of schemas.
_SINGLE: Final = frozenset(("items", "additionalProperties"))


def custom_schema(open_api_v3_schema: Mapping[str, Any] | None, *, preserve_unknown: bool = False) -> Schema:
    """Returns the schema of a version of a custom resource, with apiVersion, kind and metadata.

    None is a definition without a schema, which allows anything. `preserve_unknown` is the deprecated
    `spec.preserveUnknownFields` of the definition.
    """
    return read(custom_openapi(open_api_v3_schema), definition_schema, preserve=preserve_unknown)


def custom_openapi(open_api_v3_schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the definition's schema as the server's OpenAPI v3 document contains it."""
    if open_api_v3_schema is None:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    source = _with_embedded(open_api_v3_schema)
    return source | {"properties": {**source.get("properties", {}), **_OWN}}


def _with_embedded(source: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the schema with the server's additions: properties of embedded objects, the types of an int-or-string."""
    result: dict[str, Any] = {}
    for key, value in source.items():
        if key == "properties" and isinstance(value, Mapping):
            result[key] = {name: _with_embedded(each) for name, each in value.items()}
        elif key in _SINGLE and isinstance(value, Mapping):
            result[key] = _with_embedded(value)
        else:
            result[key] = value
    if source.get("x-kubernetes-embedded-resource") is True:
        result["properties"] = {**result.get("properties", {}), **_OWN}
        result["required"] = [*(name for name in source.get("required", ()) if name not in _NAMING), *_NAMING]
    if source.get("x-kubernetes-int-or-string") is True:
        result.setdefault("anyOf", [{"type": "integer"}, {"type": "string"}])
    return result
