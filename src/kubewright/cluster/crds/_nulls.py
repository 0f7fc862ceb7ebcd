"""Nulls in custom resources: dropped where the schema does not allow them, before defaulting and validation."""

from __future__ import annotations

from typing import Any

__all__ = ["drop_nulls"]


def drop_nulls(schema: dict[str, Any] | None, value: Any) -> None:
    """Removes, in place, null members that are not nullable, unless a default replaces them."""
    schema = schema or {}
    if isinstance(value, dict):
        properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, member in list(value.items()):
            known = properties.get(name) or (others if isinstance(others, dict) else None)
            if member is None and known is not None and not known.get("nullable") and "default" not in known:
                del value[name]
            else:
                drop_nulls(known, member)
    elif isinstance(value, list):
        for element in value:
            drop_nulls(schema.get("items"), element)
