"""The registry: implements the verbs on the objects of a resource.

The generic code for get, list, create, update, patch, apply, delete and the subresources is here, one module per verb.
Kinds differ in their strategy (`strategies`) and in their validation (`validation`). `builtin_types` lists the built-in
resources, and `group_order` the order in which discovery shows their groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.cluster.registry._builtin_resources import builtin_types, group_order

__all__ = [
    "builtin_types",
    "group_order",
]

_MODULES = {
    "builtin_types": "_builtin_resources",
    "group_order": "_builtin_resources",
}

if not TYPE_CHECKING:  # type checkers report unknown names
    __getattr__ = lazy_exports(__name__, _MODULES)
