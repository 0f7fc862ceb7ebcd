"""JSON schemas of kinds, for editors: they validate and complete objects while you type.

A definition contains an OpenAPI schema with Kubernetes' extensions, which editors do not know. These schemas say the
same in JSON Schema, draft 7. Like the server, they reject fields that the kind does not have. CEL rules are left to the
server.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kubewright.api import apiextensions, to_dict
from kubewright.manifests._write import MARK, File

__all__ = ["SCHEMA_FOLDER", "schema_files"]

SCHEMA_FOLDER: Final = "schema"
_DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_KEPT: Final = frozenset(
    [
        "default",
        "description",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "pattern",
        "required",
        "title",
        "type",
        "uniqueItems",
    ]
)
_STRINGS: Final = {"type": "object", "additionalProperties": {"type": "string"}}
_METADATA: Final[dict[str, Any]] = {
    "type": "object",
    "description": "The object's metadata.",
    "properties": {
        "name": {"type": "string"},
        "generateName": {"type": "string"},
        "namespace": {"type": "string"},
        "labels": _STRINGS,
        "annotations": _STRINGS,
        "finalizers": {"type": "array", "items": {"type": "string"}},
    },
}


def schema_files(crds: Iterable[apiextensions.CustomResourceDefinition]) -> list[File]:
    """Returns a schema for each served version of each kind: `schema/GROUP_PLURAL_VERSION.json`."""
    return [
        _file(f"{SCHEMA_FOLDER}/{spec['group']}_{spec['names']['plural']}_{version['name']}.json", spec, version)
        for spec in (to_dict(crd)["spec"] for crd in crds)
        for version in spec["versions"]
        if version["served"]
    ]


def _file(path: str, spec: Mapping[str, Any], version: Mapping[str, Any]) -> File:
    schema = _converted((version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"})
    schema["properties"] = {
        **schema.get("properties", {}),
        "apiVersion": {"const": f"{spec['group']}/{version['name']}"},
        "kind": {"const": spec["names"]["kind"]},
        "metadata": _METADATA,
    }
    schema["required"] = sorted({*schema.get("required", ()), "apiVersion", "kind", "metadata"})
    text = json.dumps({"$schema": _DRAFT, **schema}, indent=2).removeprefix("{\n")
    # JSON has no comments; the mark is a member on the first line.
    return File(path, f'{{"$comment": {json.dumps(MARK)},\n{text}\n')


def _converted(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an OpenAPI schema as JSON Schema. The depth is that of the program's classes."""
    made = {name: value for name, value in schema.items() if name in _KEPT}
    for name in ("exclusiveMinimum", "exclusiveMaximum"):  # OpenAPI: whether the bound is excluded
        bound = name.removeprefix("exclusive").lower()
        if made.pop(name, False) and bound in made:
            made[name] = made.pop(bound)
    for name in ("allOf", "anyOf", "oneOf"):
        if name in schema:
            made[name] = [_converted(each) for each in schema[name]]
    if "not" in schema:
        made["not"] = _converted(schema["not"])
    if "items" in schema:
        made["items"] = _converted(schema["items"])
    made |= _members(schema)
    if schema.get("x-kubernetes-int-or-string"):
        made.pop("anyOf", None)
        made["type"] = ["integer", "string"]
    if schema.get("nullable") and "type" in made:
        types = made["type"] if isinstance(made["type"], list) else [made["type"]]
        made["type"] = [*types, "null"]
        if "enum" in made:
            made["enum"] = [*made["enum"], None]
    return made


def _members(schema: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    open_ended = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if "properties" in schema:
        made["properties"] = {name: _converted(each) for name, each in schema["properties"].items()}
        # Below allOf and the like there is no type: these say more about fields that are defined elsewhere.
        if schema.get("type") == "object" and not open_ended:
            made["additionalProperties"] = False
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        made["additionalProperties"] = _converted(values)
    elif isinstance(values, bool):
        made["additionalProperties"] = values
    if schema.get("x-kubernetes-embedded-resource"):
        more = {name: {"type": "string"} for name in ("apiVersion", "kind")}
        made["properties"] = {**more, "metadata": _METADATA, **made.get("properties", {})}
    return made
