"""Fields that the server sets once in new objects: labels of Jobs, and the changes of admission in pods."""

from __future__ import annotations

from typing import Any, Final

from kubewright.cluster.defaults._fill import each, part
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["add_default_tolerations", "complete_changed_pod", "complete_job", "complete_pod", "label_job", "qos_class"]

_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATION_SECONDS: Final = 300


def complete_pod(obj: JSONObject) -> None:
    """Sets the phase, QoS class and default tolerations of a new pod."""
    spec = part(obj, "spec")
    obj["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
    add_default_tolerations(spec)


def complete_changed_pod(obj: JSONObject, old: JSONObject) -> None:
    """Keeps the priority and default tolerations of a changed pod."""
    spec, before = part(obj, "spec"), part(old, "spec")
    for field in ("priority", "preemptionPolicy"):
        if field in before:
            spec.setdefault(field, before[field])
    add_default_tolerations(spec)


def add_default_tolerations(spec: dict[str, Any]) -> None:
    """Lets a pod stay on an unreachable node for a while, unless it says how long."""
    tolerations = spec.get("tolerations") or []
    for taint in _TAINTS:
        if not any(_tolerates(toleration, taint) for toleration in tolerations):
            made = {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATION_SECONDS}
            tolerations = [*tolerations, made]
    spec["tolerations"] = tolerations


def _tolerates(toleration: dict[str, Any], taint: str) -> bool:
    return toleration.get("key", "") in ("", taint) and toleration.get("effect", "") in ("", "NoExecute")


def qos_class(spec: dict[str, Any]) -> str:
    """Returns the QoS class of a pod by the requests and limits of its containers."""
    guaranteed, specified = True, False
    for container in each(spec, "containers", "initContainers"):
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        specified |= any(name in ("cpu", "memory") for name in (*limits, *requests))
        for name in ("cpu", "memory"):
            if name not in limits or requests.get(name, limits[name]) != limits[name]:
                guaranteed = False
    if not specified:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def label_job(obj: JSONObject) -> None:
    """Gives a Job without labels those of its pods."""
    template = part(part(part(obj, "spec"), "template"), "metadata")
    if template.get("labels") and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(template["labels"])


def complete_job(obj: JSONObject) -> None:
    """Selects the pods of a Job by its uid, unless the Job has a manual selector."""
    spec, metadata = part(obj, "spec"), obj["metadata"]
    if spec.get("manualSelector"):
        return
    labels = {
        "batch.kubernetes.io/controller-uid": metadata["uid"],
        "batch.kubernetes.io/job-name": metadata.get("name", ""),
        "controller-uid": metadata["uid"],
        "job-name": metadata.get("name", ""),
    }
    template = part(part(spec, "template"), "metadata")
    before, own = template.get("labels") or {}, metadata.get("labels") or {}
    template["labels"] = {**before, **labels}
    if own and own == before:  # labels inherited from the template follow it
        metadata["labels"] = dict(template["labels"])
    selector = part(spec, "selector")
    uid = {"batch.kubernetes.io/controller-uid": metadata["uid"]}
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), **uid}
