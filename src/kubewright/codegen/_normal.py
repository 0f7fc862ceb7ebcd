"""The normal form of a schema: without members that have no effect.

Classes that are generated from a definition produce the same schema again, in this form:

- `required` is sorted and unique.
- Members that are null, flags that are false, empty descriptions, and empty `required` and `properties` are removed.
- Members that a definition cannot have, and that the server drops, are removed.
- `anyOf` of integer and string beside `x-kubernetes-int-or-string` is removed: it is redundant.
- A kind has `apiVersion`, `kind` and `metadata`, as the server adds them, without descriptions.
- White space around descriptions, at the ends of their lines, and around CEL rules is removed.
"""

from __future__ import annotations

import inspect
from typing import Any, Final

from kubewright.api import apiextensions

__all__ = ["normal_schema", "normal_text"]

_FLAGS: Final = (
    "nullable",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "uniqueItems",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
)
_EMPTY: Final[dict[str, Any]] = {"description": "", "properties": {}, "required": [], "x-kubernetes-validations": []}
_MEMBERS: Final = frozenset(apiextensions.JSONSchemaProps.__struct_encode_fields__)
_HEAD: Final = {"apiVersion": "string", "kind": "string", "metadata": "object"}


def normal_schema(schema: dict[str, Any], *, descriptions: bool = True) -> dict[str, Any]:
    """Returns the normal form of the schema of a kind, optionally without descriptions."""
    made = _node(schema, descriptions=descriptions)
    head = {name: {"type": type_} | made.get("properties", {}).get(name, {}) for name, type_ in _HEAD.items()}
    for node in head.values():
        node.pop("description", None)
    made["properties"] = made.get("properties", {}) | head
    return made


def normal_text(text: str) -> str:
    """Returns a description as `inspect.cleandoc` returns it from a docstring."""
    cleaned = "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").split("\n"))
    return inspect.cleandoc(cleaned.strip())


def _node(node: dict[str, Any], *, descriptions: bool) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in node.items():
        if value is None or (value is False and name in _FLAGS) or name not in _MEMBERS:
            continue
        if name == "properties":
            value = {field: _node(below or {}, descriptions=descriptions) for field, below in value.items()}
        elif name in ("items", "additionalProperties") and isinstance(value, dict):
            value = _node(value, descriptions=descriptions)
        elif name == "description":
            value = normal_text(value) if descriptions else ""
        elif name == "required":
            value = sorted(set(value))
        elif name == "x-kubernetes-validations":
            value = [rule | {"rule": rule["rule"].strip()} for rule in value]
        if name not in _EMPTY or value != _EMPTY[name]:
            made[name] = value
    if made.get("x-kubernetes-int-or-string") and _is_int_or_string(made.get("anyOf")):
        del made["anyOf"]
    return made


def _is_int_or_string(branches: Any) -> bool:
    return isinstance(branches, list) and sorted(map(str, branches)) == ["{'type': 'integer'}", "{'type': 'string'}"]
