"""The built-in API groups. The package of a group imports the types of its preferred version on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Final

__all__ = ["BUILT_IN_GROUPS", "on_first_use"]

BUILT_IN_GROUPS: Final = frozenset(
    {
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    }
)
"""The groups that have a package here. Other groups, even others under `k8s.io`, come from definitions and add-ons."""


def on_first_use(package: str, module: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` for a package that offers the types of a module."""

    def names() -> list[str]:
        types = import_module(module)
        vars(sys.modules[package]).update({name: getattr(types, name) for name in types.__all__})
        return list(types.__all__)

    def find(name: str) -> object:
        if name == "__all__":
            return names()
        # Types start with a capital letter. Looking up other names, such as another version's module, imports nothing.
        if name[:1].isupper() and name in names():
            return vars(sys.modules[package])[name]
        shared = sys.modules["kubewright.api"]  # users of Go expect `meta.Time` and `resource.Quantity`
        hint = f"; import it from {shared.__name__}" if name in shared.__all__ else ""
        raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}", name=name, obj=sys.modules[package])

    return find, names
