"""Defaults of Jobs and CronJobs."""

from __future__ import annotations

from typing import Any

from kubewright.cluster.defaults._fill import each, part, put
from kubewright.cluster.defaults._pods import template
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["cron_job", "job"]


def job(obj: JSONObject) -> None:
    """Sets the defaults of a Job: one pod, one completion."""
    spec = part(obj, "spec")
    _job_spec(spec)
    put(spec, manualSelector=False)
    labels = (spec["template"].get("metadata") or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def _job_spec(spec: dict[str, Any]) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    put(spec, parallelism=1, completionMode="NonIndexed", suspend=False)
    if spec.get("backoffLimit") is None:
        spec["backoffLimit"] = 6 if spec.get("backoffLimitPerIndex") is None else 2**31 - 1
    if spec.get("podReplacementPolicy") is None:
        failing = spec.get("podFailurePolicy") is not None
        spec["podReplacementPolicy"] = "Failed" if failing else "TerminatingOrFailed"
    for rule in each(spec.get("podFailurePolicy"), "rules"):
        for pattern in each(rule, "onPodConditions"):
            put(pattern, status="True")
    template(spec)


def cron_job(obj: JSONObject) -> None:
    """Sets the defaults of a CronJob: concurrent Jobs are allowed; three successful and one failed are kept."""
    spec = part(obj, "spec")
    put(spec, concurrencyPolicy="Allow", suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    template(part(part(spec, "jobTemplate"), "spec"))
