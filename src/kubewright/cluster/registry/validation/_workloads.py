"""Validation of workloads, in kube-apiserver's order."""

from __future__ import annotations

import re
from typing import Final
from zoneinfo import ZoneInfo

from kubewright.cluster.machinery._cron_schedules import schedule_problem
from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid, not_supported, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import (
    at_least_zero,
    label_map_errors,
    label_selector_errors,
    number_or_percent_errors,
)
from kubewright.cluster.registry.validation._jobs import index_errors, policy_errors
from kubewright.cluster.registry.validation._pods import template_pod_errors

__all__ = [
    "cron_job_errors",
    "daemon_set_errors",
    "deployment_errors",
    "job_errors",
    "job_selector_errors",
    "pod_template_errors",
    "replica_set_errors",
    "replication_controller_errors",
    "stateful_set_errors",
]

_PERCENT: Final = re.compile("[0-9]+%")
_MAX_CRON_JOB: Final = 52
_CONCURRENCY: Final = ("Allow", "Forbid", "Replace")


def deployment_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of a Deployment."""
    errors = at_least_zero(spec, "replicas", "spec")
    errors += _selector(spec, "deployment") + _template(spec, "ReplicaSet") + _strategy(spec.get("strategy") or {})
    errors += at_least_zero(spec, "minReadySeconds", "spec") + at_least_zero(spec, "revisionHistoryLimit", "spec")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        errors += at_least_zero(spec, "progressDeadlineSeconds", "spec")
        if deadline <= (spec.get("minReadySeconds") or 0):
            errors.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return errors


def _strategy(strategy: JSONObject) -> list[FieldError]:
    kind, bounds = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate":
        text = "may not be specified when strategy `type` is 'Recreate'"
        return [forbidden("spec.strategy.rollingUpdate", text)] if bounds is not None else []
    if kind != "RollingUpdate":
        shown = {"Type": kind, "RollingUpdate": None}
        if bounds is not None:
            shown["RollingUpdate"] = {
                "MaxUnavailable": bounds.get("maxUnavailable", 0),
                "MaxSurge": bounds.get("maxSurge", 0),
            }
        return [not_supported("spec.strategy", shown, ["Recreate", "RollingUpdate"])]
    return _bounds(bounds or {}, "spec.strategy.rollingUpdate", most=True)


def _bounds(bounds: JSONObject, path: str, *, most: bool) -> list[FieldError]:
    """Validates maxUnavailable and maxSurge."""
    missing, surplus = bounds.get("maxUnavailable"), bounds.get("maxSurge")
    errors = number_or_percent_errors(missing, f"{path}.maxUnavailable", most=False)
    errors += number_or_percent_errors(surplus, f"{path}.maxSurge", most=False)
    if not errors and all(each in (0, "0%") for each in (missing, surplus)):
        errors.append(invalid(f"{path}.maxUnavailable", missing, "may not be 0 when `maxSurge` is 0"))
    if most and isinstance(missing, str) and _PERCENT.fullmatch(missing) and int(missing[:-1]) > 100:
        errors.append(invalid(f"{path}.maxUnavailable", missing, "must not be greater than 100%"))
    return errors


def replica_set_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of a ReplicaSet. As on the real server, the error of an empty selector names a deployment."""
    errors = at_least_zero(spec, "replicas", "spec") + at_least_zero(spec, "minReadySeconds", "spec")
    return errors + _selector(spec, "deployment") + _template(spec, "ReplicaSet")


def replication_controller_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of a ReplicationController, whose selector is a map of labels."""
    errors = at_least_zero(spec, "minReadySeconds", "spec")
    selector = spec.get("selector") or {}
    if not selector:
        errors.append(required("spec.selector"))
    errors += at_least_zero(spec, "replicas", "spec")
    template = spec.get("template")
    if template is None:
        return [*errors, required("spec.template")]
    labels = (template.get("metadata") or {}).get("labels")
    if not selector.items() <= (labels or {}).items():
        text = "`selector` does not match template `labels`"
        errors.append(invalid("spec.template.metadata.labels", labels, text))
    return errors + _pods_that_stay(spec, "ReplicationController")


def stateful_set_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of a StatefulSet."""
    errors = at_least_zero(spec, "replicas", "spec") + at_least_zero(spec, "minReadySeconds", "spec")
    policy = spec.get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        errors.append(invalid("spec.podManagementPolicy", policy, text))
    update = spec.get("updateStrategy") or {}
    if update.get("type") not in ("RollingUpdate", "OnDelete"):
        shown = {"Type": update.get("type", ""), "RollingUpdate": update.get("rollingUpdate")}
        errors.append(invalid("spec.updateStrategy", shown, "must be 'RollingUpdate' or 'OnDelete'"))
    elif update["type"] == "RollingUpdate":
        errors += at_least_zero(update.get("rollingUpdate") or {}, "partition", "spec.updateStrategy.rollingUpdate")
    claims = [(each.get("metadata") or {}).get("name", "") for each in spec.get("volumeClaimTemplates") or ()]
    return errors + _selector(spec, "statefulset") + _template(spec, "StatefulSet", claims)


def daemon_set_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of a DaemonSet."""
    errors = label_selector_errors(spec.get("selector"), "spec.selector") or _mismatch(spec)
    if spec.get("selector") is not None and _is_empty(spec["selector"]):
        errors.append(invalid("spec.selector", spec["selector"], "empty selector is invalid for daemonset"))
    errors += _pods_that_stay(spec, "DaemonSet") + at_least_zero(spec, "minReadySeconds", "spec")
    update = spec.get("updateStrategy") or {}
    if update.get("type") not in ("RollingUpdate", "OnDelete"):
        shown = {"Type": update.get("type", ""), "RollingUpdate": update.get("rollingUpdate")}
        errors.append(not_supported("spec.updateStrategy", shown, ["RollingUpdate", "OnDelete"]))
    elif (bounds := update.get("rollingUpdate")) is not None:
        errors += _bounds(bounds, "spec.updateStrategy.rollingUpdate", most=True)
    return errors


def _is_empty(selector: JSONObject) -> bool:
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def _selector(spec: JSONObject, kind: str) -> list[FieldError]:
    selector = spec.get("selector")
    if selector is None:
        return [required("spec.selector")]
    if _is_empty(selector):
        return [invalid("spec.selector", selector, f"empty selector is invalid for {kind}")]
    errors = label_selector_errors(selector, "spec.selector")
    if errors:
        problem = "" if kind == "statefulset" else "invalid label selector"
        errors.append(invalid("spec.selector", selector, problem))
    return errors


def _template(spec: JSONObject, kind: str, volumes: list[str] | None = None) -> list[FieldError]:
    selector = spec.get("selector")
    if selector is not None and label_selector_errors(selector, "spec.selector"):
        return []  # the server stops here
    errors = [] if selector is not None and _is_empty(selector) else _mismatch(spec)
    return errors + _pods_that_stay(spec, kind, volumes)


def _mismatch(spec: JSONObject) -> list[FieldError]:
    from kubewright.api import Selector, from_dict
    from kubewright.api.meta.v1 import LabelSelector

    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    given = spec.get("selector")
    selector = Selector.from_label_selector(None if given is None else from_dict(LabelSelector, given))
    if selector.matches(labels or {}):
        return []
    return [invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")]


def _pods_that_stay(spec: JSONObject, kind: str, volumes: list[str] | None = None) -> list[FieldError]:
    pod = (spec.get("template") or {}).get("spec") or {}
    path = "spec.template.spec"
    errors = template_label_errors(spec)
    errors += template_pod_errors(spec.get("template") or {}, "spec.template", other_volumes=volumes or ())
    if pod.get("restartPolicy") != "Always":
        errors.append(not_supported(f"{path}.restartPolicy", pod.get("restartPolicy", ""), ["Always"]))
    if pod.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden(f"{path}.activeDeadlineSeconds", text))
    return errors


def template_label_errors(spec: JSONObject, path: str = "spec.template") -> list[FieldError]:
    """Validates the labels of a pod template. The server reports them without `metadata` in the path."""
    return label_map_errors(((spec.get("template") or {}).get("metadata") or {}).get("labels"), f"{path}.labels")


def pod_template_errors(obj: JSONObject) -> list[FieldError]:
    """Validates a PodTemplate."""
    return template_label_errors(obj, "template") + template_pod_errors(obj.get("template") or {}, "template")


def job_errors(spec: JSONObject, path: str = "spec") -> list[FieldError]:
    """Validates the spec of a Job, or of the Job template of a CronJob."""
    errors: list[FieldError] = []
    for field in ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"):
        errors += at_least_zero(spec, field, path)
    errors += index_errors(spec, path) + policy_errors(spec, path)
    pod = (spec.get("template") or {}).get("spec") or {}
    errors += template_label_errors(spec, f"{path}.template")
    errors += template_pod_errors(spec.get("template") or {}, f"{path}.template")
    policy, place = pod.get("restartPolicy", ""), f"{path}.template.spec.restartPolicy"
    if policy in ("Always", ""):
        errors.append(required(place, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        errors.append(not_supported(place, policy, ["OnFailure", "Never"]))
    elif policy != "Never" and spec.get("podFailurePolicy") is not None:
        errors.append(invalid(place, policy, 'only "Never" is supported when podFailurePolicy is specified'))
    return errors


def job_selector_errors(spec: JSONObject) -> list[FieldError]:
    """Validates that the selector of a Job matches its template; no selector matches nothing."""
    if (selector := spec.get("selector")) is None:
        return [required("spec.selector"), *_mismatch(spec)]
    return label_selector_errors(selector, "spec.selector") or _mismatch(spec)


def _time_zone(name: str | None) -> list[FieldError]:
    if name is None:
        return []
    if not name:
        return [invalid("spec.timeZone", name, "timeZone must be nil or non-empty string")]
    errors = []
    if name.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(invalid("spec.timeZone", name, text))
    try:
        if name != "Local":
            ZoneInfo(name)
    except (ValueError, KeyError, OSError):  # also a folder, or a path outside of the database
        errors.append(invalid("spec.timeZone", name, f"unknown time zone {name}"))
    return errors


def cron_job_errors(obj: JSONObject) -> list[FieldError]:
    """Validates a CronJob, whose name must leave room for the names of its Jobs."""
    spec, name = obj["spec"], obj["metadata"].get("name", "")
    errors: list[FieldError] = []
    schedule = spec.get("schedule", "")
    if not schedule:
        errors.append(required("spec.schedule"))
    else:
        if problem := schedule_problem(schedule):
            errors.append(invalid("spec.schedule", schedule, problem))
        if "TZ" in schedule:
            text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            errors.append(invalid("spec.schedule", schedule, text))
    errors += _time_zone(spec.get("timeZone"))
    errors += at_least_zero(spec, "startingDeadlineSeconds", "spec")
    if spec.get("concurrencyPolicy") not in _CONCURRENCY:
        errors.append(not_supported("spec.concurrencyPolicy", spec.get("concurrencyPolicy", ""), _CONCURRENCY))
    errors += job_errors((spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec")
    for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        errors += at_least_zero(spec, field, "spec")
    if len(name) > _MAX_CRON_JOB:
        errors.append(invalid("metadata.name", name, f"must be no more than {_MAX_CRON_JOB} characters"))
    return errors
