"""Table rows of workloads: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs and their helpers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kubewright.api import parse_time
from kubewright.columns._cells import (
    NONE,
    age_of,
    container_cells,
    labels_cell,
    name_and_age,
    name_of,
    selector_cell,
    spec_of,
    status_of,
)
from kubewright.columns._durations import age, human_duration
from kubewright.columns._table import JSONObject

__all__ = [
    "controller_revision",
    "cron_job",
    "daemon_set",
    "deployment",
    "disruption_budget",
    "job",
    "pod_template",
    "priority_class",
    "replica_set",
    "stateful_set",
]


def deployment(obj: JSONObject, now: datetime) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    up_to_date, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    shown = [*container_cells(spec["template"]), selector_cell(spec.get("selector"))]
    return [name_of(obj), ready, up_to_date, available, age_of(obj, now), *shown]


def replica_set(obj: JSONObject, now: datetime) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    counts = [spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0)]
    selector = spec.get("selector")
    text = selector_cell(selector) if selector is None or "matchLabels" in selector else labels_cell(selector)
    return [name_of(obj), *counts, age_of(obj, now), *container_cells(spec.get("template") or {}), text]


def stateful_set(obj: JSONObject, now: datetime) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [name_of(obj), ready, age_of(obj, now), *container_cells(spec["template"])]


def daemon_set(obj: JSONObject, now: datetime) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    names = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled")
    counts = [status.get(name, 0) for name in (*names, "numberAvailable")]
    nodes = labels_cell((spec["template"].get("spec") or {}).get("nodeSelector"))
    shown = [*container_cells(spec["template"]), selector_cell(spec.get("selector"))]
    return [name_of(obj), *counts, nodes, age_of(obj, now), *shown]


def job(obj: JSONObject, now: datetime) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
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
    shown = [*container_cells(spec["template"]), selector_cell(spec.get("selector"))]
    return [name_of(obj), state, completions, duration, age_of(obj, now), *shown]


def cron_job(obj: JSONObject, now: datetime) -> list[Any]:
    spec, status = spec_of(obj), status_of(obj)
    last = age(status["lastScheduleTime"], now) if status.get("lastScheduleTime") else NONE
    template = (spec["jobTemplate"].get("spec") or {}).get("template") or {}
    suspended = str(bool(spec.get("suspend"))).capitalize()
    fixed = [spec.get("schedule", ""), spec.get("timeZone", NONE), suspended, len(status.get("active") or ())]
    selector = selector_cell((spec["jobTemplate"].get("spec") or {}).get("selector"))
    return [name_of(obj), *fixed, last, age_of(obj, now), *container_cells(template), selector]


def disruption_budget(obj: JSONObject, now: datetime) -> list[Any]:
    spec = spec_of(obj)
    limits = [str(spec.get(name, "N/A")) for name in ("minAvailable", "maxUnavailable")]
    return [name_of(obj), *limits, status_of(obj).get("disruptionsAllowed", 0), age_of(obj, now)]


def priority_class(obj: JSONObject, now: datetime) -> list[Any]:
    policy = obj.get("preemptionPolicy", "PreemptLowerPriority")
    return [name_of(obj), obj.get("value", 0), bool(obj.get("globalDefault")), age_of(obj, now), policy]


def controller_revision(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row: controller and revision."""
    name, since = name_and_age(obj, now)
    owner = next((each for each in obj["metadata"].get("ownerReferences") or () if each.get("controller")), None)
    shown = NONE
    if owner is not None:
        group = owner["apiVersion"].rpartition("/")[0]
        shown = f"{owner['kind']}{'.' if group else ''}{group}".lower() + f"/{owner['name']}"
    return [name, shown, obj.get("revision", 0), since]


def pod_template(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row: containers, images and labels."""
    template = obj.get("template") or {}
    containers = (template.get("spec") or {}).get("containers") or ()
    labels = (template.get("metadata") or {}).get("labels") or {}
    shown = [",".join(each.get(field, "") for each in containers) for field in ("name", "image")]
    text = ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or NONE
    return [obj["metadata"]["name"], *shown, text]
