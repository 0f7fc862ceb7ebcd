"""Printers of built-in kinds: kube-apiserver's columns, and one function per resource that returns its row.

`builtin.json` has the columns of the real server; `tools/generate_cluster` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from kubewright.columns import _admission, _autoscalers, _devices, _networking, _nodes, _pods, _storage, _workloads
from kubewright.columns._table import JSONObject, Printer, TableColumn

__all__ = ["builtin_columns_data", "builtin_printer"]

Row: TypeAlias = Callable[[JSONObject, datetime], list[Any]]


class _BuiltinPrinter:
    def __init__(self, columns: Sequence[TableColumn], row: Row) -> None:
        self.columns = columns
        self._row = row

    def cells(self, obj: JSONObject, now: datetime) -> list[Any]:
        return self._row(obj, now)


@cache
def builtin_printer(api_version: str, plural: str) -> Printer | None:
    """Returns the printer of a built-in resource (`apps/v1`, `deployments`).

    Returns None for other resources and for built-in ones that are shown with name and age alone.
    """
    group = api_version.rpartition("/")[0]
    row = _ROWS.get(f"{plural}.{group}" if group else plural)
    columns = _columns().get(f"{api_version}/{plural}")
    return None if row is None or columns is None else _BuiltinPrinter(columns, row)


def builtin_columns_data() -> dict[str, list[list[Any]]]:
    """Returns the recorded columns: `[name, type, format, priority]` by `apps/v1/deployments`."""
    data: dict[str, list[list[Any]]] = msgspec.json.decode(Path(__file__).with_name("builtin.json").read_bytes())
    return data


@cache
def _columns() -> dict[str, tuple[TableColumn, ...]]:
    return {
        resource: tuple(
            TableColumn(name=name, type=type_, format=format_, priority=priority)
            for name, type_, format_, priority in columns
        )
        for resource, columns in builtin_columns_data().items()
    }


_ROWS: Final[dict[str, Row]] = {
    "pods": _pods.pod,
    "deployments.apps": _workloads.deployment,
    "replicasets.apps": _workloads.replica_set,
    "replicationcontrollers": _workloads.replica_set,
    "statefulsets.apps": _workloads.stateful_set,
    "daemonsets.apps": _workloads.daemon_set,
    "jobs.batch": _workloads.job,
    "cronjobs.batch": _workloads.cron_job,
    "services": _networking.service,
    "configmaps": _storage.config_map,
    "secrets": _storage.secret,
    "serviceaccounts": _nodes.service_account,
    "namespaces": _nodes.namespace,
    "leases.coordination.k8s.io": _nodes.lease,
    "persistentvolumeclaims": _storage.claim,
    "persistentvolumes": _storage.volume,
    "events": _nodes.event,
    "ingresses.networking.k8s.io": _networking.ingress,
    "networkpolicies.networking.k8s.io": _networking.network_policy,
    "poddisruptionbudgets.policy": _workloads.disruption_budget,
    "roles.rbac.authorization.k8s.io": _nodes.created,
    "clusterroles.rbac.authorization.k8s.io": _nodes.created,
    "rolebindings.rbac.authorization.k8s.io": _nodes.binding,
    "clusterrolebindings.rbac.authorization.k8s.io": _nodes.binding,
    "storageclasses.storage.k8s.io": _storage.storage_class,
    "priorityclasses.scheduling.k8s.io": _workloads.priority_class,
    "nodes": _nodes.node,
    "endpoints": _networking.endpoints,
    "endpointslices.discovery.k8s.io": _networking.endpoint_slice,
    "resourcequotas": _nodes.quota,
    "limitranges": _nodes.created,
    "podtemplates": _workloads.pod_template,
    "horizontalpodautoscalers.autoscaling": _autoscalers.autoscaler,
    "controllerrevisions.apps": _workloads.controller_revision,
    "ingressclasses.networking.k8s.io": _networking.ingress_class,
    "runtimeclasses.node.k8s.io": _nodes.runtime_class,
    "customresourcedefinitions.apiextensions.k8s.io": _nodes.created,
    "certificatesigningrequests.certificates.k8s.io": _nodes.signing_request,
    "events.events.k8s.io": _nodes.event_of_new_api,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _admission.webhooks,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _admission.webhooks,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": _admission.mutating_policy,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _admission.policy_binding,
    "validatingadmissionpolicies.admissionregistration.k8s.io": _admission.validating_policy,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _admission.policy_binding,
    "apiservices.apiregistration.k8s.io": _admission.api_service,
    "deviceclasses.resource.k8s.io": _devices.named,
    "resourceclaims.resource.k8s.io": _devices.claim,
    "resourceclaimtemplates.resource.k8s.io": _devices.named,
    "resourceslices.resource.k8s.io": _devices.resource_slice,
    "ipaddresses.networking.k8s.io": _networking.ip_address,
    "servicecidrs.networking.k8s.io": _networking.service_cidr,
    "csidrivers.storage.k8s.io": _storage.csi_driver,
    "csinodes.storage.k8s.io": _storage.csi_node,
    "csistoragecapacities.storage.k8s.io": _nodes.created,
    "volumeattachments.storage.k8s.io": _storage.attachment,
    "volumeattributesclasses.storage.k8s.io": _storage.attributes_class,
}
