"""The rows of nodes, addresses, limits and other kinds that administrators look at."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from kubewright.cluster._kinds import JSONObject
from kubewright.cluster._printing import age

__all__ = [
    "autoscaler",
    "controller_revision",
    "created",
    "endpoint_slice",
    "endpoints",
    "ingress_class",
    "node",
    "pod_template",
    "quota",
    "runtime_class",
]

_NONE: Final = "<none>"
_UNKNOWN: Final = "<unknown>"
_UNSET: Final = "<unset>"
_ROLE_LABEL: Final = "node-role.kubernetes.io/"
_DEFAULT_CLASS: Final = "ingressclass.kubernetes.io/is-default-class"
_SHOWN_ADDRESSES: Final = 3
_SHOWN_METRICS: Final = 2


def _begin(obj: JSONObject, now: datetime) -> tuple[str, str]:
    """Name and age."""
    metadata = obj["metadata"]
    return metadata["name"], age(metadata.get("creationTimestamp"), now)


def _first(found: Sequence[str], limit: int, separator: str = ",") -> str:
    shown = separator.join(found[:limit])
    return f"{shown} + {len(found) - limit} more..." if len(found) > limit else shown


def created(obj: JSONObject, now: datetime) -> list[Any]:
    """A name and a date, which kubectl shows as it is."""
    return [obj["metadata"]["name"], obj["metadata"].get("creationTimestamp")]


def node(obj: JSONObject, now: datetime) -> list[Any]:
    """A node: whether it is ready, what it is for, what runs there."""
    name, since = _begin(obj, now)
    status, labels = obj.get("status") or {}, obj["metadata"].get("labels") or {}
    conditions = {each["type"]: each.get("status") for each in status.get("conditions") or ()}
    states = ["Unknown"]
    if "Ready" in conditions:
        states = ["Ready" if conditions["Ready"] == "True" else "NotReady"]
    if (obj.get("spec") or {}).get("unschedulable"):
        states.append("SchedulingDisabled")
    roles = {label.removeprefix(_ROLE_LABEL) for label in labels if label.startswith(_ROLE_LABEL)}
    roles |= {value for label, value in labels.items() if label == "kubernetes.io/role" and value}
    addresses = {each["type"]: each["address"] for each in reversed(status.get("addresses") or ())}
    info = status.get("nodeInfo") or {}
    kernel = info.get("kernelVersion") or _UNKNOWN
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    wide = [addresses.get("InternalIP", _NONE), addresses.get("ExternalIP", _NONE), info.get("osImage") or _UNKNOWN]
    wide += [kernel, info.get("containerRuntimeVersion") or _UNKNOWN]
    shown_roles = ",".join(sorted(role for role in roles if role)) or _NONE
    return [name, ",".join(states), shown_roles, since, info.get("kubeletVersion", ""), *wide]


def endpoints(obj: JSONObject, now: datetime) -> list[Any]:
    """The addresses behind a service, each with its port."""
    name, since = _begin(obj, now)
    found: list[str] = []
    for subset in obj.get("subsets") or ():
        addresses = [each["ip"] for each in subset.get("addresses") or ()]
        if not subset.get("ports"):
            found += addresses
        for port in subset.get("ports") or ():
            found += [f"[{ip}]:{port['port']}" if ":" in ip else f"{ip}:{port['port']}" for ip in addresses]
    return [name, _first(found, _SHOWN_ADDRESSES) if obj.get("subsets") else _NONE, since]


def endpoint_slice(obj: JSONObject, now: datetime) -> list[Any]:
    """A part of the addresses behind a service."""
    name, since = _begin(obj, now)
    ports = [str(each.get("port") or each.get("name") or "*") for each in obj.get("ports") or ()]
    addresses = [address for each in obj.get("endpoints") or () for address in each.get("addresses") or ()]
    shown = [_first(found, _SHOWN_ADDRESSES) or _UNSET for found in (ports, addresses)]
    return [name, obj.get("addressType", ""), *shown, since]


def quota(obj: JSONObject, now: datetime) -> list[Any]:
    """What is used of what is allowed."""
    name, since = _begin(obj, now)
    status = obj.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    columns: tuple[list[str], list[str]] = ([], [])
    for resource in sorted(hard):
        columns[resource.startswith("limits.")].append(f"{resource}: {used.get(resource, '0')}/{hard[resource]}")
    return [name, *(", ".join(column) for column in columns), since]


def ingress_class(obj: JSONObject, now: datetime) -> list[Any]:
    """Who serves ingresses of this class."""
    name, since = _begin(obj, now)
    spec = obj.get("spec") or {}
    if (obj["metadata"].get("annotations") or {}).get(_DEFAULT_CLASS) == "true":
        name += " (default)"
    shown = _NONE
    if parameters := spec.get("parameters"):
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") is not None else ""
        shown = f"{parameters['kind']}{group}/{parameters['name']}"
    return [name, spec.get("controller", ""), shown, since]


def runtime_class(obj: JSONObject, now: datetime) -> list[Any]:
    """Which handler runs containers of this class."""
    name, since = _begin(obj, now)
    return [name, obj.get("handler", ""), since]


def controller_revision(obj: JSONObject, now: datetime) -> list[Any]:
    """A former or present template, and whose."""
    name, since = _begin(obj, now)
    owner = next((each for each in obj["metadata"].get("ownerReferences") or () if each.get("controller")), None)
    shown = _NONE
    if owner is not None:
        group = owner["apiVersion"].rpartition("/")[0]
        shown = f"{owner['kind']}{'.' if group else ''}{group}".lower() + f"/{owner['name']}"
    return [name, shown, obj.get("revision", 0), since]


def pod_template(obj: JSONObject, now: datetime) -> list[Any]:
    """A template by itself."""
    template = obj.get("template") or {}
    containers = (template.get("spec") or {}).get("containers") or ()
    labels = (template.get("metadata") or {}).get("labels") or {}
    shown = [",".join(each.get(field, "") for each in containers) for field in ("name", "image")]
    text = ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or _NONE
    return [obj["metadata"]["name"], *shown, text]


def autoscaler(obj: JSONObject, now: datetime) -> list[Any]:
    """What is scaled, by which measure, between which bounds."""
    name, since = _begin(obj, now)
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    target = spec.get("scaleTargetRef") or {}
    specs, current = spec.get("metrics") or [], status.get("currentMetrics") or []
    if obj["apiVersion"] == "autoscaling/v1":
        specs, current = _first_version(spec, status)
    metrics = [_metric(each, current[index] if index < len(current) else {}) for index, each in enumerate(specs)]
    shown = _first(metrics, _SHOWN_METRICS, ", ") if metrics else _NONE
    bounds = [str(spec.get("minReplicas", _UNSET)), spec.get("maxReplicas", 0), status.get("currentReplicas", 0)]
    return [name, f"{target.get('kind', '')}/{target.get('name', '')}", shown, *bounds, since]


def _first_version(spec: JSONObject, status: JSONObject) -> tuple[list[JSONObject], list[JSONObject]]:
    """The metrics of `autoscaling/v1`, which knows CPU alone, as later versions have them."""

    def cpu(field: str, percent: int | None) -> list[JSONObject]:
        value = {"averageUtilization": percent}
        return [] if percent is None else [{"type": "Resource", "resource": {"name": "cpu", field: value}}]

    return (
        cpu("target", spec.get("targetCPUUtilizationPercentage")),
        cpu("current", status.get("currentCPUUtilizationPercentage")),
    )


def _metric(spec: JSONObject, status: JSONObject) -> str:
    kind = spec.get("type", "")
    field = kind[:1].lower() + kind[1:]
    source = spec.get(field)
    if source is None:
        return "<unknown type>"
    target, current = source.get("target") or {}, (status.get(field) or {}).get("current") or {}
    resource = f"{source['name']}: " if kind in ("Resource", "ContainerResource") else ""
    if resource and target.get("averageValue") is None:
        percent = current.get("averageUtilization")
        wanted = target.get("averageUtilization")
        seen = _UNKNOWN if percent is None else f"{percent}%"
        return f"{resource}{seen}/{'<auto>' if wanted is None else f'{wanted}%'}"
    if target.get("averageValue") is not None:
        suffix = "" if resource or kind == "Pods" else " (avg)"
        return f"{resource}{current.get('averageValue', _UNKNOWN)}/{target['averageValue']}{suffix}"
    return f"{current.get('value', _UNKNOWN)}/{target.get('value', '0')}"
