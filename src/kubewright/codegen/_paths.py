"""Checks JSON paths against a schema, as `@resource` checks them against classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubewright.api import ObjectMeta
from kubewright.api.schema import Step, parse_path, shape_at

__all__ = ["leads_to"]

_ANYWHERE: Final[Mapping[str, Any]] = {"x-kubernetes-preserve-unknown-fields": True}


def leads_to(schema: Mapping[str, Any], path: str, type_: str | None = None) -> bool:
    """Whether a path leads to a field of a kind, optionally of this type."""
    try:
        steps = parse_path(path)
        if steps[0].member == "metadata" and len(steps) > 1:
            found = shape_at(ObjectMeta, "".join(step.text for step in steps[1:]), "").type
        else:
            found = _walk(schema, steps).get("type")
    except (ValueError, TypeError, LookupError):
        return False
    return type_ is None or found in (type_, None)


def _walk(node: Mapping[str, Any], steps: Sequence[Step]) -> Mapping[str, Any]:
    for step in steps:
        if "type" not in node:
            return _ANYWHERE
        if step.member is None:
            node = node["items"]
            if step.filter:
                _walk(node, parse_path(f".{step.filter}"))
        elif "properties" in node:
            node = node["properties"][step.member]
        elif isinstance(node.get("additionalProperties"), Mapping):
            node = node["additionalProperties"]
        else:
            node = _ANYWHERE if node.get("x-kubernetes-preserve-unknown-fields") else node["properties"]
    return node
