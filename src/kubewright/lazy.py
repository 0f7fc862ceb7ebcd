"""Lazy exports: a package that imports the modules behind its names on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from kubewright.garbage import collection_paused

__all__ = ["lazy_exports"]


def lazy_exports(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """`__getattr__` of a package with names of other modules: `_files` is one of its own, `kubewright.api` is another.

    What was found stays there, so that each name is looked for once.
    """

    def find(name: str) -> Any:  # Any, because the names have different types
        if name not in homes:
            raise AttributeError(_unknown(package, name, homes))
        home = homes[name] if "." in homes[name] else f"{package}.{homes[name]}"
        with collection_paused():  # what is imported stays: there is no garbage to look for
            module = import_module(home)
        value = vars(sys.modules[package])[name] = getattr(module, name)
        return value

    return find


def _unknown(package: str, name: str, homes: Mapping[str, str]) -> str:
    from kubewright.suggestions import nearest  # whoever makes no mistake need not wait for it

    meant = nearest(name, homes)
    hint = f". Did you mean {meant!r}?" if meant else ""
    return f"module {package!r} has no attribute {name!r}{hint}"
