"""How the package of an API group has the types of its best version: it imports them when one of them is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module

__all__ = ["on_first_use"]


def on_first_use(package: str, module: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package with the types of a module."""

    def names() -> list[str]:
        types = import_module(module)
        vars(sys.modules[package]).update({name: getattr(types, name) for name in types.__all__})
        return list(types.__all__)

    def find(name: str) -> object:
        if name == "__all__":
            return names()
        # Types begin with a capital. To look for anything else, such as the module of another version, imports nothing.
        if name[:1].isupper() and name in names():
            return vars(sys.modules[package])[name]
        raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])

    return find, names
