"""Conversion of built-in resources that are served in several forms and stored in one.

Events of both groups are the same objects. HorizontalPodAutoscalers are stored as `autoscaling/v2`; version 1 only
supports CPU.
"""

from __future__ import annotations

from typing import Final

from kubewright.cluster.machinery._failures import unsupported
from kubewright.cluster.machinery._resources import Conversion, JSONObject

__all__ = ["CONVERSIONS", "STORED_AS"]

_EVENT_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_EVENT_NAMES_BACK: Final = {new: old for old, new in _EVENT_NAMES.items()}


class _Events:
    """`events.k8s.io/v1`, stored as core Events: the same fields with other names."""

    def to_storage(self, obj: JSONObject) -> JSONObject:
        """Returns the object with the names of the core group."""
        made = {_EVENT_NAMES_BACK.get(name, name): value for name, value in obj.items()}
        made.setdefault("involvedObject", {})
        made.setdefault("source", {})
        made.setdefault("firstTimestamp", None)
        made.setdefault("lastTimestamp", None)
        made.setdefault("reportingComponent", "")
        made.setdefault("reportingInstance", "")
        return made

    def from_storage(self, obj: JSONObject) -> JSONObject:
        """Returns the object with the names of `events.k8s.io`."""
        made = {_EVENT_NAMES.get(name, name): value for name, value in obj.items()}
        for name in ("reportingController", "reportingInstance"):
            if not made.get(name):
                made.pop(name, None)
        return made


class _Autoscalers:
    """`autoscaling/v1`, stored as version 2. Values that version 1 cannot represent are rejected, not dropped."""

    def to_storage(self, obj: JSONObject) -> JSONObject:
        """Converts the CPU percentage to a metric."""
        spec, status = {**(obj.get("spec") or {})}, {**(obj.get("status") or {})}
        wanted = spec.pop("targetCPUUtilizationPercentage", None)
        if wanted is not None:
            target = {"type": "Utilization", "averageUtilization": wanted}
            spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
        now = status.pop("currentCPUUtilizationPercentage", None)
        if not status.get("currentReplicas"):
            status.pop("currentReplicas", None)  # version 2 omits a zero
        status["currentMetrics"] = None
        if now is not None:
            current = {"averageUtilization": now, "averageValue": "0"}
            status["currentMetrics"] = [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]
        return {**obj, "spec": spec, "status": status}

    def from_storage(self, obj: JSONObject) -> JSONObject:
        """Converts the CPU metric to a percentage."""
        spec, status = {**(obj.get("spec") or {})}, {**(obj.get("status") or {})}
        metrics = spec.pop("metrics", None) or []
        if spec.pop("behavior", None) or status.pop("conditions", None):
            raise unsupported("a HorizontalPodAutoscaler with behavior or conditions in autoscaling/v1: use v2")
        for metric in metrics:
            resource = metric.get("resource") or {}
            target = resource.get("target") or {}
            if resource.get("name") != "cpu" or "averageUtilization" not in target or len(metrics) > 1:
                raise unsupported("a HorizontalPodAutoscaler with other metrics than CPU in autoscaling/v1: use v2")
            spec["targetCPUUtilizationPercentage"] = target["averageUtilization"]
        for metric in status.pop("currentMetrics", None) or []:
            current = (metric.get("resource") or {}).get("current") or {}
            if "averageUtilization" in current:
                status["currentCPUUtilizationPercentage"] = current["averageUtilization"]
        status.setdefault("currentReplicas", 0)
        return {**obj, "spec": spec, "status": status}


CONVERSIONS: Final[dict[tuple[str, str], Conversion]] = {
    ("events.k8s.io/v1", "events"): _Events(),
    ("autoscaling/v1", "horizontalpodautoscalers"): _Autoscalers(),
}
"""By group version and plural. Other resources are stored as they are."""

STORED_AS: Final = {"events.events.k8s.io": "/events"}
"""The storage name of resources that share the objects of another one."""
