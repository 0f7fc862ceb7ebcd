"""Kinds: how a class becomes a kind of Kubernetes, and what is known about it.

- `resource` is the decorator that users know as `kubewright.resource`. (`kubewright.api.resource` is the API group
  `resource.k8s.io`.)
- `definition_of` returns the `Definition` of a kind: everything that its CustomResourceDefinition says beyond its names
  and schema. `column_type` returns the type of one of its printer columns. `DeletionConfirmation` is a form's.
- `new_status` and `status_names` describe the status of a kind.
- `BUILT_IN_GROUPS` are the API groups that Kubernetes itself serves. `builtin_kind` returns the class of one of their
  kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.api._groups import BUILT_IN_GROUPS
    from kubewright.api._spec_status import new_status, status_names
    from kubewright.api.kinds._builtin import builtin_kind
    from kubewright.api.kinds._definition import Definition, column_type
    from kubewright.api.kinds._form import FORM_ANNOTATION, DeletionConfirmation
    from kubewright.api.kinds._resource import definition_of, pluralize, resource
    from kubewright.api.kinds._states import STATES_ANNOTATION

_MODULES = {
    "BUILT_IN_GROUPS": "kubewright.api._groups",
    "FORM_ANNOTATION": "_form",
    "STATES_ANNOTATION": "_states",
    "Definition": "_definition",
    "DeletionConfirmation": "_form",
    "builtin_kind": "_builtin",
    "column_type": "_definition",
    "definition_of": "_resource",
    "new_status": "kubewright.api._spec_status",
    "pluralize": "_resource",
    "resource": "_resource",
    "status_names": "kubewright.api._spec_status",
}

__all__ = [
    "BUILT_IN_GROUPS",
    "FORM_ANNOTATION",
    "STATES_ANNOTATION",
    "Definition",
    "DeletionConfirmation",
    "builtin_kind",
    "column_type",
    "definition_of",
    "new_status",
    "pluralize",
    "resource",
    "status_names",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
