"""The pages. Importing a page's module registers it."""

from __future__ import annotations

import importlib

from kubewright.console.pages._deletion import delete_page

__all__ = ["delete_page", "register"]

_MODULES = (
    "edit._delete",
    "edit._routes",
    "extensions._page",
    "lists._kinds",
    "lists._list",
    "lists._search",
    "object._page",
    "operator._page",
    "problems._page",
    "_not_found",  # last, because it matches every path
)


def register() -> None:
    """Registers all pages with NiceGUI."""
    for name in _MODULES:
        importlib.import_module(f"{__name__}.{name}")
