"""Table rows of HorizontalPodAutoscalers."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubewright.columns._cells import NONE, UNKNOWN, UNSET, first_cell, name_and_age
from kubewright.columns._table import JSONObject

__all__ = ["autoscaler"]

_SHOWN_METRICS: Final = 2


def autoscaler(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row: target, metrics, bounds and replicas."""
    name, since = name_and_age(obj, now)
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    target = spec.get("scaleTargetRef") or {}
    specs, current = spec.get("metrics") or [], status.get("currentMetrics") or []
    if obj["apiVersion"] == "autoscaling/v1":
        specs, current = _first_version(spec, status)
    metrics = [_metric(each, current[index] if index < len(current) else {}) for index, each in enumerate(specs)]
    shown = first_cell(metrics, _SHOWN_METRICS, ", ") if metrics else NONE
    bounds = [str(spec.get("minReplicas", UNSET)), spec.get("maxReplicas", 0), status.get("currentReplicas", 0)]
    return [name, f"{target.get('kind', '')}/{target.get('name', '')}", shown, *bounds, since]


def _first_version(spec: JSONObject, status: JSONObject) -> tuple[list[JSONObject], list[JSONObject]]:
    """Converts the CPU metric of `autoscaling/v1` to the metrics of later versions."""

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
        seen = UNKNOWN if percent is None else f"{percent}%"
        return f"{resource}{seen}/{'<auto>' if wanted is None else f'{wanted}%'}"
    if target.get("averageValue") is not None:
        suffix = "" if resource or kind == "Pods" else " (avg)"
        return f"{resource}{current.get('averageValue', UNKNOWN)}/{target['averageValue']}{suffix}"
    return f"{current.get('value', UNKNOWN)}/{target.get('value', '0')}"
