"""The schema of a kind, from its definition or from the server's OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubewright.client import ApiError, Client
from kubewright.console.forms._checks import METADATA
from kubewright.console.forms._fields import Field

__all__ = ["fetch_schema", "form_for", "inline_references"]

_REFERENCE: Final = "#/components/schemas/"
_TEXTS: Final[dict[str, Any]] = {"type": "object", "additionalProperties": {"type": "string"}}
_ANYTHING: Final[dict[str, Any]] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_LEAVES: Final[dict[str, dict[str, Any]]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"x-kubernetes-int-or-string": True},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"x-kubernetes-int-or-string": True},
    # Metadata of an embedded object: nothing is required, and other fields are allowed.
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "labels": _TEXTS, "annotations": _TEXTS},
        "x-kubernetes-preserve-unknown-fields": True,
    },
}
_FIRST: Final = ("apiVersion", "kind", "metadata")


def form_for(kind: str, schema: dict[str, Any] | None, *, namespaced: bool) -> Field:
    """Returns the form of a kind: metadata, then the fields of its schema. Without a schema, the rest is YAML.

    The form omits the status, which is written through its subresource.
    """
    properties = dict((schema or {}).get("properties") or {})
    metadata = {**METADATA, "properties": {**METADATA["properties"]}}
    del metadata["properties"]["generateName"]
    if not namespaced:
        del metadata["properties"]["namespace"]
    if isinstance(own := properties.get("metadata"), dict) and own.get("properties"):
        named = own["properties"].get("name")
        if isinstance(named, dict):
            metadata["properties"]["name"] = {**metadata["properties"]["name"], **named}
    shown = {"metadata": metadata, **{name: node for name, node in properties.items() if name not in _FIRST}}
    if not properties:
        return Field(kind, {"type": "object", "properties": shown, "x-kubernetes-preserve-unknown-fields": True})
    shown = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, **shown}
    return Field(kind, {**(schema or {}), "type": "object", "properties": shown})


async def fetch_schema(client: Client, group: str, version: str, kind: str) -> dict[str, Any] | None:
    """Returns the schema of a kind from the server's OpenAPI v3 document; None if there is none."""
    place = f"apis/{group}/{version}" if group else f"api/{version}"
    try:
        document = msgspec.json.decode(await client.request("GET", f"/openapi/v3/{place}"))
    except (ApiError, msgspec.DecodeError):
        return None
    schemas = document.get("components", {}).get("schemas", {})
    wanted = {"group": group, "version": version, "kind": kind}
    for name, schema in schemas.items():
        if wanted in (schema.get("x-kubernetes-group-version-kind") or ()):
            return inline_references(schemas, name)
    return None


def inline_references(schemas: dict[str, Any], name: str) -> dict[str, Any]:
    """Returns a definition with all references replaced. Recursive definitions become YAML."""
    made: dict[str, dict[str, Any]] = {}
    open_: set[str] = set()

    def definition(name: str) -> dict[str, Any]:
        if name in _LEAVES:
            return _LEAVES[name]
        if name in open_ or name not in schemas:
            return _ANYTHING
        if name not in made:
            open_.add(name)
            made[name] = node(schemas[name])
            open_.discard(name)
        return made[name]

    def node(schema: dict[str, Any]) -> dict[str, Any]:
        references = [schema, *(schema.get("allOf") or ())]
        for reference in references:
            if isinstance(found := reference.get("$ref"), str):
                target = definition(found.removeprefix(_REFERENCE))
                own = {key: value for key, value in schema.items() if key == "description" and value}
                return {**target, **own}
        result = {key: value for key, value in schema.items() if key not in ("default", "allOf")}
        if schema.get("default") not in (None, "", 0, False, {}, []):
            result["default"] = schema["default"]  # the others are Go's zero values
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                result[key] = node(schema[key])
        if "properties" in schema:
            result["properties"] = {name: node(member) for name, member in schema["properties"].items()}
        return result

    return definition(name)
