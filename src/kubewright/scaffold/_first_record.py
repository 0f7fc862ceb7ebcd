"""Reads records of the first scaffold, which lack options of kinds: these are read from the modules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from kubewright.scaffold._builtin_kinds import find_builtin_kind
from kubewright.scaffold._names import ScaffoldError, package_of

__all__ = ["kinds_of_first"]

_OWNS: Final = re.compile(r"@operator\.reconciles\([^)\]]*owns=\[([^\]]*)\]")
_WEBHOOKS: Final = {"defaulting": ".defaults(", "validation": ".validates(", "conversion": ".converts("}


def kinds_of_first(found: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """Returns the kinds of such a record, with the options that their modules show."""
    package = folder / package_of(str(found.get("name")))
    return [_with_options(dict(kind), package) for kind in found.get("kinds", ())]


def _with_options(kind: dict[str, Any], package: Path) -> dict[str, Any]:
    module = str(kind.get("module"))
    text = _read(package / f"{module}.py")
    kind["namespaced"] = 'scope="Cluster"' not in text
    kind["controller"] = "@operator.reconciles(" in text
    owns = _OWNS.search(text)
    kind["owns"] = tuple(name.strip() for name in owns[1].split(",") if _is_owned(name.strip())) if owns else ()
    if kind.pop("webhook", False):
        hooks = _read(package / f"{module}_webhook.py")
        kind["webhooks"] = tuple(name for name, mark in _WEBHOOKS.items() if mark in hooks)
    return kind


def _is_owned(name: str) -> bool:
    """Whether the scaffold may have written the name. Kinds that the user added are not built-in."""
    try:
        return str(find_builtin_kind(name)) == name
    except ScaffoldError:
        return False


def _read(path: Path) -> str:
    """Returns the module; an empty string if the user has moved it."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
