"""Lazy exports: a package that imports the modules behind its names on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from kubewright.garbage import collection_paused

__all__ = ["lazy_exports"]


def lazy_exports(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Returns the `__getattr__` of a package that imports its names on first use.

    `modules` maps each name to its module: `_files` is a module of the package, `kubewright.api` is another package. A
    name is imported once and then stored in the package.
    """

    def find(name: str) -> Any:  # Any, because the names have different types
        if name not in modules:
            raise AttributeError(_unknown(package, name, modules))
        module_name = modules[name] if "." in modules[name] else f"{package}.{modules[name]}"
        with collection_paused():  # the imported objects stay alive, so there is no garbage to collect
            module = import_module(module_name)
        value = vars(sys.modules[package])[name] = getattr(module, name)
        return value

    return find


def _unknown(package: str, name: str, modules: Mapping[str, str]) -> str:
    from kubewright.suggestions import nearest  # only needed for a misspelled name

    meant = nearest(name, modules)
    hint = f". Did you mean {meant!r}?" if meant else ""
    return f"module {package!r} has no attribute {name!r}{hint}"
