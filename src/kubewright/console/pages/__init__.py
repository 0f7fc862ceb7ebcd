"""The pages. Each module registers its own when it is imported."""

from __future__ import annotations

import importlib

__all__ = ["register"]

_MODULES = (
    "edit._delete",
    "edit._routes",
    "lists._kinds",
    "lists._list",
    "lists._search",
    "object._page",
    "operator._page",
    "_not_found",  # last, because it matches every address
)


def register() -> None:
    """Make all pages known to NiceGUI."""
    for name in _MODULES:
        importlib.import_module(f"{__name__}.{name}")
