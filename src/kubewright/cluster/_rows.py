"""The rows of built-in kinds in `kubectl get`: one function for each, in the order of its columns.

Columns are facts of the real server (`_data/resources.json`). A kind without a function here is shown with its name and
age alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

from kubewright.api import parse_time
from kubewright.cluster import _rows_cluster
from kubewright.cluster._kinds import JSONObject, Printer, TableColumn
from kubewright.cluster._printing import age, human_duration
from kubewright.cluster._rows_pods import pod

__all__ = ["printer_of"]

Row: TypeAlias = Callable[[JSONObject, datetime], list[Any]]
_NONE: Final = "<none>"
_UNKNOWN: Final = "<unknown>"
_UNSET: Final = "<unset>"


class _Rows:
    """Prints a kind by a function that makes its cells."""

    def __init__(self, columns: Sequence[TableColumn], row: Row) -> None:
        self.columns = columns
        self._row = row

    def cells(self, obj: JSONObject, now: datetime) -> list[Any]:
        """One value for each column."""
        return self._row(obj, now)


def printer_of(resource: str, columns: Sequence[TableColumn]) -> Printer | None:
    """How a resource is printed; None when it has no rows of its own."""
    row = _ROWS.get(resource)
    return None if row is None else _Rows(columns, row)


def _name(obj: JSONObject) -> str:
    name: str = obj["metadata"]["name"]
    return name


def _age(obj: JSONObject, now: datetime) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


def _labels(labels: JSONObject | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or _NONE


def _selector(selector: JSONObject | None) -> str:
    """A LabelSelector as text."""
    if selector is None:
        return _NONE
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for each in selector.get("matchExpressions") or ():
        values = ",".join(sorted(each.get("values") or ()))
        word = {"In": "in", "NotIn": "notin"}.get(each["operator"])
        plain = each["key"] if each["operator"] == "Exists" else f"!{each['key']}"
        parts.append(f"{each['key']} {word} ({values})" if word else plain)
    return ",".join(parts) or _NONE


def _containers(template: JSONObject) -> tuple[str, str]:
    found = (template.get("spec") or {}).get("containers") or []
    return ",".join(each["name"] for each in found), ",".join(each.get("image", "") for each in found)


def _spec(obj: JSONObject) -> JSONObject:
    return obj.get("spec") or {}


def _status(obj: JSONObject) -> JSONObject:
    return obj.get("status") or {}


def _deployment(obj: JSONObject, now: datetime) -> list[Any]:
    spec, status = _spec(obj), _status(obj)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    up_to_date, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    shown = [*_containers(spec["template"]), _selector(spec.get("selector"))]
    return [_name(obj), ready, up_to_date, available, _age(obj, now), *shown]


def _replica_set(obj: JSONObject, now: datetime) -> list[Any]:
    spec, status = _spec(obj), _status(obj)
    counts = [spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0)]
    selector = spec.get("selector")
    text = _selector(selector) if selector is None or "matchLabels" in selector else _labels(selector)
    return [_name(obj), *counts, _age(obj, now), *_containers(spec.get("template") or {}), text]


def _stateful_set(obj: JSONObject, now: datetime) -> list[Any]:
    spec, status = _spec(obj), _status(obj)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [_name(obj), ready, _age(obj, now), *_containers(spec["template"])]


def _daemon_set(obj: JSONObject, now: datetime) -> list[Any]:
    spec, status = _spec(obj), _status(obj)
    names = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled")
    counts = [status.get(name, 0) for name in (*names, "numberAvailable")]
    nodes = _labels((spec["template"].get("spec") or {}).get("nodeSelector"))
    shown = [*_containers(spec["template"]), _selector(spec.get("selector"))]
    return [_name(obj), *counts, nodes, _age(obj, now), *shown]


def _job(obj: JSONObject, now: datetime) -> list[Any]:
    spec, status = _spec(obj), _status(obj)
    wanted, parallel = spec.get("completions"), spec.get("parallelism", 0)
    completions = f"{status.get('succeeded', 0)}/{wanted}"
    if wanted is None:
        completions = f"{status.get('succeeded', 0)}/1" + (f" of {parallel}" if parallel > 1 else "")
    duration = ""
    if started := status.get("startTime"):
        ended = parse_time(status["completionTime"]) if status.get("completionTime") else now
        duration = human_duration((ended - parse_time(started)).total_seconds())
    state = "Suspended" if spec.get("suspend") else "Running"
    for condition in status.get("conditions") or ():
        if condition.get("status") == "True" and condition["type"] in ("Complete", "Failed", "Suspended"):
            state = condition["type"]
    shown = [*_containers(spec["template"]), _selector(spec.get("selector"))]
    return [_name(obj), state, completions, duration, _age(obj, now), *shown]


def _cron_job(obj: JSONObject, now: datetime) -> list[Any]:
    spec, status = _spec(obj), _status(obj)
    last = age(status["lastScheduleTime"], now) if status.get("lastScheduleTime") else _NONE
    template = (spec["jobTemplate"].get("spec") or {}).get("template") or {}
    suspended = str(bool(spec.get("suspend"))).capitalize()
    fixed = [spec.get("schedule", ""), spec.get("timeZone", _NONE), suspended, len(status.get("active") or ())]
    selector = _selector((spec["jobTemplate"].get("spec") or {}).get("selector"))
    return [_name(obj), *fixed, last, _age(obj, now), *_containers(template), selector]


def _service(obj: JSONObject, now: datetime) -> list[Any]:
    spec = _spec(obj)
    ports = []
    for port in spec.get("ports") or ():
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        ports.append(f"{port['port']}{node}/{port.get('protocol', 'TCP')}")
    address = spec.get("clusterIP") or _NONE
    shown = [spec.get("type", ""), address, _external(obj), ",".join(ports) or _NONE]
    return [_name(obj), *shown, _age(obj, now), _labels(spec.get("selector"))]


def _external(obj: JSONObject) -> str:
    spec, kind = _spec(obj), _spec(obj).get("type")
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    addresses = list(spec.get("externalIPs") or ())
    if kind == "LoadBalancer":
        ingress = (_status(obj).get("loadBalancer") or {}).get("ingress") or ()
        addresses = [each.get("ip") or each.get("hostname", "") for each in ingress] + addresses
        return ",".join(addresses) or "<pending>"
    return ",".join(addresses) or _NONE


def _config_map(obj: JSONObject, now: datetime) -> list[Any]:
    return [_name(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), _age(obj, now)]


def _secret(obj: JSONObject, now: datetime) -> list[Any]:
    return [_name(obj), obj.get("type", ""), len(obj.get("data") or ()), _age(obj, now)]


def _service_account(obj: JSONObject, now: datetime) -> list[Any]:
    return [_name(obj), _age(obj, now)]


def _namespace(obj: JSONObject, now: datetime) -> list[Any]:
    return [_name(obj), _status(obj).get("phase", ""), _age(obj, now)]


def _lease(obj: JSONObject, now: datetime) -> list[Any]:
    return [_name(obj), _spec(obj).get("holderIdentity", ""), _age(obj, now)]


def _claim(obj: JSONObject, now: datetime) -> list[Any]:
    spec, status = _spec(obj), _status(obj)
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
    volume = spec.get("volumeName", "")
    capacity = (status.get("capacity") or {}).get("storage", "") if volume else ""
    modes = _modes(status.get("accessModes")) if volume else ""
    classes = [spec.get("storageClassName", ""), spec.get("volumeAttributesClassName") or _UNSET]
    return [_name(obj), phase, volume, capacity, modes, *classes, _age(obj, now), spec.get("volumeMode", _UNSET)]


def _volume(obj: JSONObject, now: datetime) -> list[Any]:
    spec, status = _spec(obj), _status(obj)
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
    claim = spec.get("claimRef")
    bound = f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""
    fixed = [(spec.get("capacity") or {}).get("storage", ""), _modes(spec.get("accessModes"))]
    classes = [spec.get("storageClassName", ""), spec.get("volumeAttributesClassName") or _UNSET]
    rest = [spec.get("persistentVolumeReclaimPolicy", ""), phase, bound, *classes, status.get("reason", "")]
    return [_name(obj), *fixed, *rest, _age(obj, now), spec.get("volumeMode", _UNSET)]


def _modes(modes: list[str] | None) -> str:
    short = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
    return ",".join(word for mode, word in short.items() if mode in (modes or ()))


def _event(obj: JSONObject, now: datetime) -> list[Any]:
    involved = obj.get("involvedObject") or {}
    series, count = obj.get("series"), obj.get("count") or 1
    first = age(obj.get("firstTimestamp"), now)
    if not obj.get("firstTimestamp") and obj.get("eventTime"):
        first = age(obj["eventTime"], now)
    last = age(obj["lastTimestamp"], now) if obj.get("lastTimestamp") else first
    if series:
        last, count = age(series.get("lastObservedTime"), now), series.get("count", 1)
    target = f"{involved.get('kind', '').lower()}/{involved.get('name', '')}"
    source = obj.get("source") or {}
    component = ", ".join(part for part in (source.get("component"), source.get("host")) if part)
    component = component or ", ".join(
        part for part in (obj.get("reportingComponent"), obj.get("reportingInstance")) if part
    )
    fixed = [last, obj.get("type", ""), obj.get("reason", ""), target, involved.get("fieldPath", "")]
    return [*fixed, component, obj.get("message", "").strip(), first, count, _name(obj)]


def _ingress(obj: JSONObject, now: datetime) -> list[Any]:
    spec = _spec(obj)
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    shown = ",".join(hosts) or "*"
    if len(hosts) > 3:
        shown = f"{','.join(hosts[:3])} + {len(hosts) - 3} more..."
    balancer = (_status(obj).get("loadBalancer") or {}).get("ingress") or ()
    address = ",".join(each.get("ip") or each.get("hostname", "") for each in balancer)
    ports = "80, 443" if spec.get("tls") else "80"
    return [_name(obj), spec.get("ingressClassName", _NONE), shown, address, ports, _age(obj, now)]


def _network_policy(obj: JSONObject, now: datetime) -> list[Any]:
    return [_name(obj), _selector(_spec(obj).get("podSelector") or {}), _age(obj, now)]


def _disruption_budget(obj: JSONObject, now: datetime) -> list[Any]:
    spec = _spec(obj)
    limits = [str(spec.get(name, "N/A")) for name in ("minAvailable", "maxUnavailable")]
    return [_name(obj), *limits, _status(obj).get("disruptionsAllowed", 0), _age(obj, now)]


def _role(obj: JSONObject, now: datetime) -> list[Any]:
    return [_name(obj), obj["metadata"].get("creationTimestamp")]


def _binding(obj: JSONObject, now: datetime) -> list[Any]:
    reference, subjects = obj.get("roleRef") or {}, obj.get("subjects") or ()

    def names(kind: str) -> str:
        found = (each for each in subjects if each.get("kind") == kind)
        return ", ".join(
            f"{each.get('namespace', '')}/{each['name']}" if kind == "ServiceAccount" else each["name"]
            for each in found
        )

    role = f"{reference.get('kind', '')}/{reference.get('name', '')}"
    return [_name(obj), role, _age(obj, now), names("User"), names("Group"), names("ServiceAccount")]


def _storage_class(obj: JSONObject, now: datetime) -> list[Any]:
    annotations = obj["metadata"].get("annotations") or {}
    default = annotations.get("storageclass.kubernetes.io/is-default-class") == "true"
    name = f"{_name(obj)} (default)" if default else _name(obj)
    fixed = [obj.get("provisioner", ""), obj.get("reclaimPolicy", "Delete"), obj.get("volumeBindingMode", _UNSET)]
    return [name, *fixed, bool(obj.get("allowVolumeExpansion")), _age(obj, now)]


def _priority_class(obj: JSONObject, now: datetime) -> list[Any]:
    policy = obj.get("preemptionPolicy", "PreemptLowerPriority")
    return [_name(obj), obj.get("value", 0), bool(obj.get("globalDefault")), _age(obj, now), policy]


_ROWS: Final[dict[str, Row]] = {
    "pods": pod,
    "deployments.apps": _deployment,
    "replicasets.apps": _replica_set,
    "replicationcontrollers": _replica_set,
    "statefulsets.apps": _stateful_set,
    "daemonsets.apps": _daemon_set,
    "jobs.batch": _job,
    "cronjobs.batch": _cron_job,
    "services": _service,
    "configmaps": _config_map,
    "secrets": _secret,
    "serviceaccounts": _service_account,
    "namespaces": _namespace,
    "leases.coordination.k8s.io": _lease,
    "persistentvolumeclaims": _claim,
    "persistentvolumes": _volume,
    "events": _event,
    "ingresses.networking.k8s.io": _ingress,
    "networkpolicies.networking.k8s.io": _network_policy,
    "poddisruptionbudgets.policy": _disruption_budget,
    "roles.rbac.authorization.k8s.io": _role,
    "clusterroles.rbac.authorization.k8s.io": _role,
    "rolebindings.rbac.authorization.k8s.io": _binding,
    "clusterrolebindings.rbac.authorization.k8s.io": _binding,
    "storageclasses.storage.k8s.io": _storage_class,
    "priorityclasses.scheduling.k8s.io": _priority_class,
    "nodes": _rows_cluster.node,
    "endpoints": _rows_cluster.endpoints,
    "endpointslices.discovery.k8s.io": _rows_cluster.endpoint_slice,
    "resourcequotas": _rows_cluster.quota,
    "limitranges": _rows_cluster.created,
    "podtemplates": _rows_cluster.pod_template,
    "horizontalpodautoscalers.autoscaling": _rows_cluster.autoscaler,
    "controllerrevisions.apps": _rows_cluster.controller_revision,
    "ingressclasses.networking.k8s.io": _rows_cluster.ingress_class,
    "runtimeclasses.node.k8s.io": _rows_cluster.runtime_class,
    "customresourcedefinitions.apiextensions.k8s.io": _rows_cluster.created,
}
