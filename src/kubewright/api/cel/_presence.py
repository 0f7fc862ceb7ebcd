"""Questions that programs ask before they use CEL. They load neither the compiler nor its libraries."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from kubewright.regex import has_engine

__all__ = ["has_rules", "is_available"]


def is_available() -> bool:
    """Whether the libraries for CEL are installed. Does not load them."""
    return find_spec("cel_expr_python") is not None and has_engine()


def has_rules(schema: Any) -> bool:
    """Whether there is a rule anywhere in a schema."""
    if not isinstance(schema, dict):
        return False
    return bool(schema.get("x-kubernetes-validations")) or any(map(has_rules, _parts(schema)))


def _parts(schema: dict[str, Any]) -> Iterator[Any]:
    yield schema.get("items")
    yield schema.get("additionalProperties")
    yield from (schema.get("properties") or {}).values()
    yield from schema.get("allOf") or ()
