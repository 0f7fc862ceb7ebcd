"""Checks that a schema is structural, as the API server requires."""

from __future__ import annotations

import re
from typing import Any, Final

from kubewright.codegen._errors import CodegenError

__all__ = ["check_field_names", "check_structural", "loosened"]

_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "array", "object"})
_MAX_DEPTH: Final = 200
_NOT_IN_A_NAME: Final = re.compile(r'["\\\x00-\x1f]')  # msgspec does not escape names
_PRESERVE_UNKNOWN: Final = "x-kubernetes-preserve-unknown-fields"


def check_structural(schema: Any, source: str, where: str) -> None:
    """Raises CodegenError, which names the position, for a schema that is not structural."""
    reason = _check(schema, where, 0)
    if reason:
        raise CodegenError(
            source,
            f"{reason} The API server would reject this schema, because it is not structural;"
            " --lenient treats a missing type as any JSON",
        )


def _check(node: Any, path: str, depth: int) -> str | None:
    if not isinstance(node, dict):
        return f"{path}: a schema is an object, not {node!r}."
    if depth > _MAX_DEPTH:
        return f"{path}: the schema is more than {_MAX_DEPTH} levels deep."
    for unknown in ("$ref", "definitions", "dependencies", "patternProperties"):
        if unknown in node:
            return f"{path}: {unknown} cannot be used."
    type_ = node.get("type")
    if type_ is not None and type_ not in _TYPES:
        return f"{path}: there is no type {type_!r}."
    free = node.get("x-kubernetes-int-or-string") or node.get(_PRESERVE_UNKNOWN)
    if type_ is None and not free:
        return f"{path}: the type is missing."
    for name, below in (node.get("properties") or {}).items():
        if reason := _check(below, f"{path}.{name}", depth + 1):
            return reason
    if type_ == "array" and not isinstance(node.get("items"), dict):
        return f"{path}: the items of the list have no schema."
    for name in ("items", "additionalProperties"):
        if isinstance(node.get(name), dict) and (reason := _check(node[name], f"{path}[*]", depth + 1)):
            return reason
    return None


def check_field_names(schema: Any, source: str, where: str) -> None:
    """Raises CodegenError, which names the position, for a field name that no class can have."""
    waiting = [(schema, where)]
    while waiting:
        node, path = waiting.pop()
        for name, below in (node.get("properties") or {}).items():
            if _NOT_IN_A_NAME.search(name):
                raise CodegenError(
                    source,
                    f"{path}: no class can have the field {name!r:.80}: names with quotes, backslashes or control"
                    " characters cannot be decoded; leave this kind out, or remove the field from the file",
                )
            waiting.append((below, f"{path}.{name}"))
        waiting += [
            (node[name], f"{path}[*]") for name in ("items", "additionalProperties") if isinstance(node.get(name), dict)
        ]


def loosened(node: Any, depth: int = 0) -> Any:
    """Returns the schema with any JSON where the type is missing."""
    if not isinstance(node, dict) or depth > _MAX_DEPTH:
        return node
    made = dict(node)
    if isinstance(made.get("properties"), dict):
        made["properties"] = {name: loosened(below, depth + 1) for name, below in made["properties"].items()}
    for name in ("items", "additionalProperties"):
        if name in made:
            made[name] = loosened(made[name], depth + 1)
    if made.get("type") == "array" and not isinstance(made.get("items"), dict):
        made["items"] = {_PRESERVE_UNKNOWN: True}
    if not made.get("type") and not made.get("x-kubernetes-int-or-string"):
        made[_PRESERVE_UNKNOWN] = True
    return made
