"""Finds extensions by name: `package.module:name`."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from kubewright.console.extensions._extension import Extension

__all__ = ["ExtensionError", "check_extensions", "load_extension"]


class ExtensionError(ValueError):
    """An extension that cannot be loaded. The message names it, the reason and the fix."""


def load_extension(target: str | Extension) -> Extension:
    """Returns the extension with this name, such as `fleet.ui:fleet`. Imports its module.

    Raises `ExtensionError` if the module cannot be imported, or has no such extension.
    """
    if isinstance(target, Extension):
        return target
    module, colon, name = target.partition(":")
    if not colon or not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise ExtensionError(f"{target!r} is not the name of an extension: use module:name, such as fleet.ui:fleet")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except Exception as error:  # the module is code of another project
        raise ExtensionError(f"cannot import extension {target}: {type(error).__name__}: {error}") from error
    if not isinstance(found, Extension):
        raise ExtensionError(f"{module} has no Extension named {name!r}, but {type(found).__name__}")
    return found


def check_extensions(extensions: Iterable[Extension]) -> tuple[Extension, ...]:
    """Returns the extensions. Raises `ExtensionError` if two have the same name, which is part of URLs."""
    found: dict[str, Extension] = {}
    for one in extensions:
        if one.name in found and found[one.name] is not one:
            raise ExtensionError(f"two extensions have the name {one.name!r}: rename one of them")
        found[one.name] = one
    return tuple(found.values())
