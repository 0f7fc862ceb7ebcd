"""The pages. Each module registers its own when it is imported."""

from __future__ import annotations

import importlib

__all__ = ["register"]

_MODULES = (
    "_delete",
    "_edit",
    "_kinds",
    "_list",
    "_object",
    "_operator",
    "_search",
    "_lost",  # the last one: it takes every address that is left
)


def register() -> None:
    """Make all pages known to NiceGUI."""
    for name in _MODULES:
        importlib.import_module(f"{__name__}.{name}")
