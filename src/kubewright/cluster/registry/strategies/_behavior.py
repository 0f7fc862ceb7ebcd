"""Behavior of built-in resources that is not part of the API's documents, observed on the real server.

Resources are named as in error messages: `deployments.apps`, `pods`.
"""

from __future__ import annotations

from typing import Final

__all__: list[str] = []

WITH_GENERATION: Final = frozenset(
    [
        "pods",
        "podtemplates",
        "replicationcontrollers",
        "deployments.apps",
        "replicasets.apps",
        "statefulsets.apps",
        "daemonsets.apps",
        "jobs.batch",
        "cronjobs.batch",
        "ingresses.networking.k8s.io",
        "ingressclasses.networking.k8s.io",
        "networkpolicies.networking.k8s.io",
        "endpointslices.discovery.k8s.io",
        "poddisruptionbudgets.policy",
        "priorityclasses.scheduling.k8s.io",
        "csidrivers.storage.k8s.io",
        "deviceclasses.resource.k8s.io",
        "resourceslices.resource.k8s.io",
        "flowschemas.flowcontrol.apiserver.k8s.io",
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
    ]
)
"""Resources with a `metadata.generation`."""

CREATED_BY_UPDATE: Final = frozenset(
    [
        "runtimeclasses.node.k8s.io",
        "rolebindings.rbac.authorization.k8s.io",
        "clusterrolebindings.rbac.authorization.k8s.io",
        "roles.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "leases.coordination.k8s.io",
        "limitranges",
        "events",
        "events.events.k8s.io",
        "services",
        "endpoints",
    ]
)
"""Resources that a PUT creates if they do not exist."""

CONDITIONAL_UPDATE: Final = frozenset(
    [
        "runtimeclasses.node.k8s.io",
        "poddisruptionbudgets.policy",
        "csidrivers.storage.k8s.io",
        "csistoragecapacities.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
        "csinodes.storage.k8s.io",
        "leases.coordination.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
        "apiservices.apiregistration.k8s.io",
    ]
)
"""Resources that a PUT changes only with a resourceVersion."""

RETURNED_WHEN_DELETED: Final = frozenset(
    [
        "namespaces",
        "persistentvolumes",
        "persistentvolumeclaims",
        "pods",
        "podtemplates",
        "resourcequotas",
        "services",
        "serviceaccounts",
        "deviceclasses.resource.k8s.io",
        "resourceclaims.resource.k8s.io",
        "resourceclaimtemplates.resource.k8s.io",
        "resourceslices.resource.k8s.io",
        "csidrivers.storage.k8s.io",
        "csinodes.storage.k8s.io",
        "storageclasses.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
        "volumeattributesclasses.storage.k8s.io",
    ]
)
"""Resources whose delete returns the object instead of a Status."""

ORPHANING: Final = frozenset({"jobs.batch", "replicationcontrollers"})
"""Resources whose dependents are orphaned if a delete names no propagation policy."""

NAMED_BY_LABEL: Final = frozenset({"namespaces", "services", "statefulsets.apps"})
"""Resources whose names are DNS labels."""

NAMED_BY_BYTES: Final = frozenset({"replicationcontrollers", "deviceclasses.resource.k8s.io"})
"""Resources with a newer check of names, whose message counts bytes."""

PREFIXED_FREELY: Final = NAMED_BY_BYTES | {"events", "poddisruptionbudgets.policy"}
"""Resources whose generateName is not checked."""

NAMED_FREELY: Final = frozenset(
    [
        "events",
        "poddisruptionbudgets.policy",
        "roles.rbac.authorization.k8s.io",
        "rolebindings.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "clusterrolebindings.rbac.authorization.k8s.io",
        "certificatesigningrequests.certificates.k8s.io",
    ]
)
"""Resources whose names may be any path segment."""

_METADATA_AND_SPEC: Final = (("metadata",), ("spec",))
STATUS_RESET: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "deployments.apps": (("spec",), ("metadata", "labels")),
    "customresourcedefinitions.apiextensions.k8s.io": _METADATA_AND_SPEC,
    "servicecidrs.networking.k8s.io": _METADATA_AND_SPEC,
    "volumeattachments.storage.k8s.io": _METADATA_AND_SPEC,
    "resourceclaims.resource.k8s.io": _METADATA_AND_SPEC,
    "flowschemas.flowcontrol.apiserver.k8s.io": _METADATA_AND_SPEC,
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": _METADATA_AND_SPEC,
    "validatingadmissionpolicies.admissionregistration.k8s.io": _METADATA_AND_SPEC,
}
"""Fields that a write to the status keeps. Default: the spec."""

_REFERENCE: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
SELECTABLE: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "pods": {
        "spec.nodeName": ("spec.nodeName",),
        "spec.host": ("spec.nodeName",),
        "spec.restartPolicy": ("spec.restartPolicy",),
        "spec.schedulerName": ("spec.schedulerName",),
        "spec.serviceAccountName": ("spec.serviceAccountName",),
        "spec.hostNetwork": ("spec.hostNetwork",),
        "status.phase": ("status.phase",),
        "status.podIP": ("status.podIPs.0.ip",),
        "status.podIPs": (),  # accepted, but always empty
        "status.nominatedNodeName": ("status.nominatedNodeName",),
    },
    "events": {
        **{f"involvedObject.{name}": (f"involvedObject.{name}",) for name in _REFERENCE},
        "reason": ("reason",),
        "reportingComponent": ("reportingComponent",),
        "source": ("source.component", "reportingComponent"),
        "type": ("type",),
    },
    "events.events.k8s.io": {
        **{f"regarding.{name}": (f"regarding.{name}",) for name in _REFERENCE},
        "reason": ("reason",),
        "reportingController": ("reportingController",),
        "type": ("type",),
    },
    "secrets": {"type": ("type",)},
    "namespaces": {"status.phase": ("status.phase",)},
    "nodes": {"spec.unschedulable": ("spec.unschedulable",)},
    "services": {"spec.clusterIP": ("spec.clusterIP",), "spec.type": ("spec.type",)},
    "replicationcontrollers": {"status.replicas": ("status.replicas",)},
    "jobs.batch": {"status.successful": ("status.succeeded",)},
    "certificatesigningrequests.certificates.k8s.io": {"spec.signerName": ("spec.signerName",)},
    "resourceslices.resource.k8s.io": {"spec.nodeName": ("spec.nodeName",), "spec.driver": ("spec.driver",)},
}
"""Fields for field selectors besides name and namespace, with the paths of their values: the first one that is set.

These are the field label conversions of the real server. Kinds without one are selected by name and namespace alone.
"""

SELECTABLE_DEFAULTS: Final = {
    "spec.hostNetwork": "false",
    "spec.unschedulable": "false",
    "status.replicas": "0",
    "status.successful": "0",
}
"""Values of absent fields. Default: the empty string."""

UNSELECTABLE: Final = {
    "jobs.batch": "field label {quoted} not supported for Job",
    "resourceslices.resource.k8s.io": ("field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {}"),
}
"""Errors for other fields. Default: that of `Strategy.unselectable`."""

DEPRECATED: Final = {
    "componentstatuses": "v1 ComponentStatus is deprecated in v1.19+",
    "endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}
"""Warnings that the server sends with each response for a resource."""
