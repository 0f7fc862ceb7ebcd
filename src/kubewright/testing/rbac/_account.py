"""The service account of an operator, with only the permissions of its roles."""

from __future__ import annotations

from typing import Any

from kubewright.api import Object, ObjectMeta, core, info_of, to_dict
from kubewright.client import Client
from kubewright.client.wire import resource_path
from kubewright.cluster import Cluster, ClusterError
from kubewright.manifests import roles_of
from kubewright.operator import Operator
from kubewright.testing._controlplane import ControlPlane
from kubewright.testing._real_cluster import RealCluster
from kubewright.testing._service_account import ServiceAccount

__all__ = ["add_operator_account", "operator_client"]


def add_operator_account(control_plane: ControlPlane, operator: Operator, namespace: str) -> ServiceAccount:
    """Creates the account of the operator in a namespace, with the roles that `kubewright manifests` generates.

    `operator.running(account, install_crds=False)` then runs as in production, where a missing rule is a 403. Cluster
    roles are named after the operator, so only one operator of a name can have an account at a time.
    """
    account = control_plane.add_service_account(operator.name, namespace)
    made = roles_of(operator, namespace=namespace)
    for obj in (*made.roles, *made.bindings):
        _create(control_plane, obj)
    return account


async def operator_client(cluster: Cluster | RealCluster, operator: Operator, namespace: str) -> Client:
    """Returns a client with the account and the roles of the operator in a namespace, on either cluster.

    `operator.running(await operator_client(cluster, operator, namespace), install_crds=False)` runs as in production.
    The caller closes the client. Raises ClusterError for an embedded cluster without RBAC, where every test would pass.
    """
    if isinstance(cluster, Cluster) and not cluster.rbac:
        raise ClusterError("this cluster does not enforce RBAC: use Cluster(rbac=True), or pytest --cluster-rbac")
    made = roles_of(operator, namespace=namespace)
    async with cluster.client() as admin:
        await admin.create(core.ServiceAccount(metadata=ObjectMeta(name=operator.name, namespace=namespace)))
        for obj in (*made.roles, *made.bindings):
            await admin.create(obj)
    return cluster.client_as(f"system:serviceaccount:{namespace}:{operator.name}")


def _create(control_plane: ControlPlane, obj: Object) -> None:
    info = info_of(obj)
    content: dict[str, Any] = to_dict(obj)
    control_plane.request("POST", resource_path(info, obj.metadata.namespace), content)
