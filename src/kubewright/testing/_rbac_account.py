"""An operator's own service account on a control plane, with its roles and nothing else."""

from __future__ import annotations

from typing import Any

from kubewright.api import Object, info_of, to_dict
from kubewright.client._paths import resource_path
from kubewright.manifests import roles_of
from kubewright.operator import Operator
from kubewright.testing._controlplane import ControlPlane
from kubewright.testing._service_account import ServiceAccount

__all__ = ["add_operator_account"]


def add_operator_account(control_plane: ControlPlane, operator: Operator, namespace: str) -> ServiceAccount:
    """The account that the operator would run as in that namespace, with the roles that `kubewright manifests` writes.

    `operator.running(account, install_crds=False)` then does as in production, where a missing rule is a 403. Roles for
    the whole cluster are named after the operator, so there can be one operator of a name at a time.
    """
    account = control_plane.add_service_account(operator.name, namespace)
    made = roles_of(operator, namespace=namespace)
    for obj in (*made.roles, *made.bindings):
        _create(control_plane, obj)
    return account


def _create(control_plane: ControlPlane, obj: Object) -> None:
    info = info_of(obj)
    content: dict[str, Any] = to_dict(obj)
    control_plane.request("POST", resource_path(info, obj.metadata.namespace), content)
