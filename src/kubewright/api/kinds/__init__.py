"""Kinds: how a class becomes a kind of Kubernetes, and what is known about it.

- `resource` is the decorator that users know as `kubewright.resource`. (`kubewright.api.resource` is the API group
  `resource.k8s.io`.)
- `definition_of` returns the `Definition` of a kind: everything that its CustomResourceDefinition says beyond its names
  and schema. `column_type` returns the type of one of its printer columns.
- `new_status` and `status_names` describe the status of a kind.
- `BUILT_IN_GROUPS` are the API groups that Kubernetes itself serves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.api._groups import BUILT_IN_GROUPS as BUILT_IN_GROUPS
    from kubewright.api._spec_status import new_status as new_status
    from kubewright.api._spec_status import status_names as status_names
    from kubewright.api.kinds._definition import Definition as Definition
    from kubewright.api.kinds._definition import column_type as column_type
    from kubewright.api.kinds._resource import definition_of as definition_of
    from kubewright.api.kinds._resource import pluralize as pluralize
    from kubewright.api.kinds._resource import resource as resource

_HOMES = {
    "BUILT_IN_GROUPS": "kubewright.api._groups",
    "new_status": "kubewright.api._spec_status",
    "status_names": "kubewright.api._spec_status",
    "Definition": "kubewright.api.kinds._definition",
    "column_type": "kubewright.api.kinds._definition",
    "definition_of": "kubewright.api.kinds._resource",
    "pluralize": "kubewright.api.kinds._resource",
    "resource": "kubewright.api.kinds._resource",
}

__all__ = [
    "BUILT_IN_GROUPS",
    "Definition",
    "column_type",
    "definition_of",
    "new_status",
    "pluralize",
    "resource",
    "status_names",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
