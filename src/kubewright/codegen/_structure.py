"""Whether a schema is structural, as the API server requires it of every definition."""

from __future__ import annotations

from typing import Any, Final

from kubewright.codegen._errors import CodegenError

__all__ = ["check_structural"]

_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "array", "object"})
_DEEPEST: Final = 200


def check_structural(schema: Any, source: str, where: str) -> None:
    """Raise CodegenError, which names the place, for a schema whose values have no one type."""
    reason = _check(schema, where, 0)
    if reason:
        raise CodegenError(source, f"{reason} The API server would not accept this schema: it is not structural")


def _check(node: Any, path: str, depth: int) -> str | None:
    if not isinstance(node, dict):
        return f"{path}: a schema is an object, not {node!r}."
    if depth > _DEEPEST:
        return f"{path}: the schema is more than {_DEEPEST} levels deep."
    for unknown in ("$ref", "definitions", "dependencies", "patternProperties"):
        if unknown in node:
            return f"{path}: {unknown} cannot be used."
    type_ = node.get("type")
    if type_ is not None and type_ not in _TYPES:
        return f"{path}: there is no type {type_!r}."
    free = node.get("x-kubernetes-int-or-string") or node.get("x-kubernetes-preserve-unknown-fields")
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
