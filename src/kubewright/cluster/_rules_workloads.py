"""What the server demands of workloads, services and data, in its words and in its order."""

from __future__ import annotations

import re
from typing import Any, Final

from kubewright.cluster._field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from kubewright.cluster._kinds import JSONObject
from kubewright.cluster._names import label_problems
from kubewright.cluster._rules_pods import at_least_zero, pod_errors, port_errors
from kubewright.cluster._schedules import schedule_problem

__all__ = [
    "cron_job_errors",
    "daemon_set_errors",
    "deployment_errors",
    "job_errors",
    "key_errors",
    "replica_set_errors",
    "service_errors",
    "stateful_set_errors",
]

_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_RULE: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_LONGEST_KEY: Final = 253
_LONGEST_CRON_JOB: Final = 52
_SERVICE_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_CONCURRENCY: Final = ("Allow", "Forbid", "Replace")


def key_errors(data: JSONObject | None, field: str) -> list[FieldError]:
    """Keys of ConfigMaps and Secrets, which become names of files."""
    errors = []
    for key in data or ():
        problems = [f"must be no more than {_LONGEST_KEY} characters"] if len(key) > _LONGEST_KEY else []
        if not _KEY.fullmatch(key):
            problems.append(_KEY_RULE)
        elif key == "..":
            problems.append("must not be '..'")
        elif key == ".":
            problems.append("must not be '.'")
        elif key.startswith(".."):
            problems.append("must not start with '..'")
        errors += [invalid(f"{field}[{key}]", key, problem) for problem in problems]
    return errors


def deployment_errors(spec: JSONObject) -> list[FieldError]:
    """The spec of a Deployment."""
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
    if strategy.get("type") == "Recreate" and strategy.get("rollingUpdate") is not None:
        text = "may not be specified when strategy `type` is 'Recreate'"
        return [forbidden("spec.strategy.rollingUpdate", text)]
    bounds = strategy.get("rollingUpdate") or {}
    if all(bounds.get(field) in (0, "0%") for field in ("maxSurge", "maxUnavailable")):
        text = "may not be 0 when `maxSurge` is 0"
        return [invalid("spec.strategy.rollingUpdate.maxUnavailable", bounds["maxUnavailable"], text)]
    return []


def replica_set_errors(spec: JSONObject) -> list[FieldError]:
    """The spec of a ReplicaSet, whose empty selector the server blames on a deployment."""
    errors = at_least_zero(spec, "replicas", "spec") + at_least_zero(spec, "minReadySeconds", "spec")
    return errors + _selector(spec, "deployment") + _template(spec, "ReplicaSet")


def stateful_set_errors(spec: JSONObject) -> list[FieldError]:
    """The spec of a StatefulSet."""
    errors = at_least_zero(spec, "replicas", "spec") + at_least_zero(spec, "minReadySeconds", "spec")
    claims = [(each.get("metadata") or {}).get("name", "") for each in spec.get("volumeClaimTemplates") or ()]
    return errors + _selector(spec, "statefulset") + _template(spec, "StatefulSet", claims)


def daemon_set_errors(spec: JSONObject) -> list[FieldError]:
    """The spec of a DaemonSet."""
    errors = _mismatch(spec)
    if spec.get("selector") is not None and _is_empty(spec["selector"]):
        errors.append(invalid("spec.selector", spec["selector"], "empty selector is invalid for daemonset"))
    return errors + _pods_that_stay(spec, "DaemonSet") + at_least_zero(spec, "minReadySeconds", "spec")


def _is_empty(selector: JSONObject) -> bool:
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def _selector(spec: JSONObject, kind: str) -> list[FieldError]:
    selector = spec.get("selector")
    if selector is None:
        return [required("spec.selector")]
    text = f"empty selector is invalid for {kind}"
    return [invalid("spec.selector", selector, text)] if _is_empty(selector) else []


def _template(spec: JSONObject, kind: str, volumes: list[str] | None = None) -> list[FieldError]:
    selector = spec.get("selector")
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
    errors = pod_errors(pod, path, other_volumes=volumes or ())
    if pod.get("restartPolicy") != "Always":
        errors.append(not_supported(f"{path}.restartPolicy", pod.get("restartPolicy", ""), ["Always"]))
    if pod.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden(f"{path}.activeDeadlineSeconds", text))
    return errors


def job_errors(spec: JSONObject, path: str = "spec") -> list[FieldError]:
    """The spec of a Job, or of the Jobs of a CronJob."""
    errors: list[FieldError] = []
    for field in ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"):
        errors += at_least_zero(spec, field, path)
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
    pod = (spec.get("template") or {}).get("spec") or {}
    errors += pod_errors(pod, f"{path}.template.spec")
    policy, place = pod.get("restartPolicy", ""), f"{path}.template.spec.restartPolicy"
    if policy in ("Always", ""):
        errors.append(required(place, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        errors.append(not_supported(place, policy, ["OnFailure", "Never"]))
    return errors


def cron_job_errors(obj: JSONObject) -> list[FieldError]:
    """A CronJob, whose name leaves room for that of its Jobs."""
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
    errors += at_least_zero(spec, "startingDeadlineSeconds", "spec")
    if spec.get("concurrencyPolicy") not in _CONCURRENCY:
        errors.append(not_supported("spec.concurrencyPolicy", spec.get("concurrencyPolicy", ""), _CONCURRENCY))
    errors += job_errors((spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec")
    for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        errors += at_least_zero(spec, field, "spec")
    if len(name) > _LONGEST_CRON_JOB:
        errors.append(invalid("metadata.name", name, f"must be no more than {_LONGEST_CRON_JOB} characters"))
    return errors


def service_errors(spec: JSONObject) -> list[FieldError]:
    """The type and the ports of a Service."""
    kind: Any = spec.get("type", "")
    ports = spec.get("ports") or ()
    errors: list[FieldError] = []
    if not ports and spec.get("clusterIP") != "None" and kind != "ExternalName":
        errors.append(required("spec.ports"))
    names: set[str] = set()
    for index, port in enumerate(ports):
        place, name = f"spec.ports[{index}]", port.get("name", "")
        if len(ports) > 1 and not name:
            errors.append(required(f"{place}.name"))
        elif name:
            errors += [invalid(f"{place}.name", name, problem) for problem in label_problems(name)]
            if name in names:
                errors.append(duplicate(f"{place}.name", name))
            names.add(name)
        errors += port_errors(port.get("port", 0), f"{place}.port")
        if isinstance(port.get("targetPort"), int):
            errors += port_errors(port["targetPort"], f"{place}.targetPort")
    if kind not in _SERVICE_TYPES:
        errors.append(not_supported("spec.type", kind, _SERVICE_TYPES))
    return errors
