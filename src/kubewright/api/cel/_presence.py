"""Checks that do not load the CEL compiler, and `load`, which loads it in steps."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from kubewright.regex import has_engine

__all__ = ["has_rules", "is_available", "load"]

_STEPS: Final = (
    "_values",
    "_nodes",
    "_signatures",
    "_declarations",
    "_kubernetes_values",
    "functions",
    "_checker",
    "_interpreter",
    "_schemas",
    "_estimates",
    "_syntax",
    "_rules",
)
"""Modules in the order in which they import each other."""


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


async def load() -> None:
    """Imports the compiler and the interpreter. Other tasks run between its modules: together they take 50 ms."""
    for name in _STEPS:
        import_module(f"kubewright.api.cel.{name}")
        await asyncio.sleep(0)
