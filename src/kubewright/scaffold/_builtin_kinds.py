"""The built-in kinds that a reconciler may own."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass

import kubewright.api
from kubewright.api import Object
from kubewright.scaffold._names import ScaffoldError
from kubewright.suggestions import nearest

__all__ = ["BuiltinKind", "builtin_kinds", "find_builtin_kind"]


@dataclass(frozen=True, slots=True, order=True)
class BuiltinKind:
    """A built-in kind, and its module in `kubewright.api`."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.group}.{self.kind}"


def find_builtin_kind(name: str) -> BuiltinKind:
    """Returns the kind of a name such as `Deployment`, or `apps/Deployment` if several groups have one."""
    group, _, kind = name.replace(".", "/").rpartition("/")
    known = [one for one in builtin_kinds() if not group or one.group == group]
    found = [one for one in known if one.kind.lower() == kind.lower()]
    if not found:
        kinds = {one.kind.lower(): one.kind for one in known}
        meant = nearest(kind.lower(), kinds)
        hint = "; repeat --owns for each kind" if "," in name else f"; did you mean {kinds[meant]}?" if meant else ""
        raise ScaffoldError(f"--owns must be a built-in kind, such as Deployment, not {name!r}{hint}")
    if len(found) > 1:
        these = " or ".join(f"{one.group}/{one.kind}" for one in found)
        raise ScaffoldError(f"several groups have a kind {kind}: use {these}")
    return found[0]


def builtin_kinds() -> list[BuiltinKind]:
    """Returns all built-in kinds, sorted."""
    found = []
    for package in pkgutil.iter_modules(kubewright.api.__path__):
        if not package.ispkg:
            continue
        module = importlib.import_module(f"kubewright.api.{package.name}")
        for name in dir(module):  # types are imported on access, so that `vars` may not contain them yet
            value = getattr(module, name)
            if isinstance(value, type) and issubclass(value, Object) and hasattr(value, "__resource__"):
                found.append(BuiltinKind(package.name, name))
    return sorted(found)
