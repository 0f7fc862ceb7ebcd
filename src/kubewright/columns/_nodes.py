"""Table rows of nodes, namespaces, quotas, Leases, Events and RBAC objects."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubewright.columns._cells import NONE, UNKNOWN, age_of, name_and_age, name_of, spec_of, status_of
from kubewright.columns._durations import age, human_duration
from kubewright.columns._table import JSONObject

__all__ = [
    "binding",
    "created",
    "event",
    "event_of_new_api",
    "lease",
    "namespace",
    "node",
    "quota",
    "runtime_class",
    "service_account",
    "signing_request",
]

_ROLE_LABEL: Final = "node-role.kubernetes.io/"


def namespace(obj: JSONObject, now: datetime) -> list[Any]:
    return [name_of(obj), status_of(obj).get("phase", ""), age_of(obj, now)]


def service_account(obj: JSONObject, now: datetime) -> list[Any]:
    return [name_of(obj), age_of(obj, now)]


def lease(obj: JSONObject, now: datetime) -> list[Any]:
    return [name_of(obj), spec_of(obj).get("holderIdentity", ""), age_of(obj, now)]


def event(obj: JSONObject, now: datetime) -> list[Any]:
    involved = obj.get("involvedObject") or {}
    series, count = obj.get("series"), obj.get("count") or 1
    first = age(obj.get("firstTimestamp"), now)
    if not obj.get("firstTimestamp") and obj.get("eventTime"):
        first = age(obj["eventTime"], now)
    last = age(obj["lastTimestamp"], now) if obj.get("lastTimestamp") else first
    if series:
        last, count = age(series.get("lastObservedTime"), now), series.get("count", 1)
    target = involved.get("kind", "").lower()
    if involved.get("name"):
        target += f"/{involved['name']}"
    source = obj.get("source") or {}
    component = ", ".join(part for part in (source.get("component"), source.get("host")) if part)
    component = component or ", ".join(
        part for part in (obj.get("reportingComponent"), obj.get("reportingInstance")) if part
    )
    fixed = [last, obj.get("type", ""), obj.get("reason", ""), target, involved.get("fieldPath", "")]
    return [*fixed, component, obj.get("message", "").strip(), first, count, name_of(obj)]


_CORE_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "count": "deprecatedCount",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
}
"""The fields of an Event in `v1`, and their names in `events.k8s.io/v1`."""


def event_of_new_api(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row of an Event in `events.k8s.io/v1`: that of the same Event in `v1`."""
    return event(obj | {name: obj[other] for name, other in _CORE_NAMES.items() if other in obj}, now)


def signing_request(obj: JSONObject, now: datetime) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    types = {each.get("type") for each in status.get("conditions") or ()}
    states = ["Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"]
    states += [
        state for state, holds in (("Failed", "Failed" in types), ("Issued", status.get("certificate"))) if holds
    ]
    seconds = spec.get("expirationSeconds")
    duration = NONE if seconds is None else human_duration(seconds)
    requestor, signer = spec.get("username", ""), spec.get("signerName") or NONE
    return [name_of(obj), age_of(obj, now), signer, requestor, duration, ",".join(states)]


def created(obj: JSONObject, now: datetime) -> list[Any]:
    return [name_of(obj), obj["metadata"].get("creationTimestamp")]


def binding(obj: JSONObject, now: datetime) -> list[Any]:
    reference, subjects = obj.get("roleRef") or {}, obj.get("subjects") or ()

    def names(kind: str) -> str:
        found = (each for each in subjects if each.get("kind") == kind)
        return ", ".join(
            f"{each.get('namespace', '')}/{each['name']}" if kind == "ServiceAccount" else each["name"]
            for each in found
        )

    role = f"{reference.get('kind', '')}/{reference.get('name', '')}"
    return [name_of(obj), role, age_of(obj, now), names("User"), names("Group"), names("ServiceAccount")]


def node(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row: readiness, roles, version, addresses and system."""
    name, since = name_and_age(obj, now)
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
    kernel = info.get("kernelVersion") or UNKNOWN
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    wide = [addresses.get("InternalIP", NONE), addresses.get("ExternalIP", NONE), info.get("osImage") or UNKNOWN]
    wide += [kernel, info.get("containerRuntimeVersion") or UNKNOWN]
    shown_roles = ",".join(sorted(role for role in roles if role)) or NONE
    return [name, ",".join(states), shown_roles, since, info.get("kubeletVersion", ""), *wide]


def quota(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row: used and allowed amounts."""
    name, since = name_and_age(obj, now)
    status = obj.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    columns: tuple[list[str], list[str]] = ([], [])
    for resource in sorted(hard):
        columns[resource.startswith("limits.")].append(f"{resource}: {used.get(resource, '0')}/{hard[resource]}")
    return [name, *(", ".join(column) for column in columns), since]


def runtime_class(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row: the handler."""
    name, since = name_and_age(obj, now)
    return [name, obj.get("handler", ""), since]
