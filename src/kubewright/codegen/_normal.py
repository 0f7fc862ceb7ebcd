"""The normal form of a schema: what is left when everything that says nothing is gone.

Types generated from a definition give the same schema again, in this form:

- `required` is sorted, without repeats; members that are null, and flags that are false, are left out, as are an empty
  text, an empty `required` and empty `properties`; so is a default of null;
- members that a definition cannot have, and that the server would drop, are left out;
- `anyOf` of integer and text, beside `x-kubernetes-int-or-string`, is left out: the flag says it already;
- a kind has `apiVersion`, `kind` and `metadata`, as the server adds them; the texts that describe these are left out;
- white space around descriptions, and at the ends of their lines, is left out, and around CEL rules.
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
    """The normal form of the schema of a kind; perhaps without descriptions."""
    made = _node(schema, descriptions=descriptions)
    head = {name: {"type": type_} | made.get("properties", {}).get(name, {}) for name, type_ in _HEAD.items()}
    for node in head.values():
        node.pop("description", None)
    made["properties"] = made.get("properties", {}) | head
    return made


def normal_text(text: str) -> str:
    """A description, as it comes back from a docstring."""
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
    if made.get("x-kubernetes-int-or-string") and _says_int_or_string(made.get("anyOf")):
        del made["anyOf"]
    return made


def _says_int_or_string(branches: Any) -> bool:
    return isinstance(branches, list) and sorted(map(str, branches)) == ["{'type': 'integer'}", "{'type': 'string'}"]
