"""The built-in kinds that a reconciler may own, by the names that people call them."""

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
    """A built-in kind, and the module of `kubewright.api` that has it."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.group}.{self.kind}"


def find_builtin_kind(name: str) -> BuiltinKind:
    """The kind of a name such as `Deployment`, or `apps/Deployment` where several groups have one."""
    group, _, kind = name.replace(".", "/").rpartition("/")
    known = [one for one in builtin_kinds() if not group or one.group == group]
    found = [one for one in known if one.kind.lower() == kind.lower()]
    if not found:
        kinds = {one.kind.lower(): one.kind for one in known}
        meant = nearest(kind.lower(), kinds)
        hint = "; repeat --owns for each kind" if "," in name else f"; did you mean {kinds[meant]}?" if meant else ""
        raise ScaffoldError(f"--owns names a kind of Kubernetes, such as Deployment, and {name!r} is none{hint}")
    if len(found) > 1:
        these = " or ".join(f"{one.group}/{one.kind}" for one in found)
        raise ScaffoldError(f"several groups have a kind {kind}: say {these}")
    return found[0]


def builtin_kinds() -> list[BuiltinKind]:
    """All of them, sorted."""
    found = []
    for package in pkgutil.iter_modules(kubewright.api.__path__):
        if not package.ispkg:
            continue
        module = importlib.import_module(f"kubewright.api.{package.name}")
        for name in dir(module):  # its types are imported by being asked for, so that `vars` may have none of them
            value = getattr(module, name)
            if isinstance(value, type) and issubclass(value, Object) and hasattr(value, "__resource__"):
                found.append(BuiltinKind(package.name, name))
    return sorted(found)
