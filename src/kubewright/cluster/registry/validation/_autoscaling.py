"""Validation of HorizontalPodAutoscalers."""

from __future__ import annotations

from kubewright.cluster.machinery._field_errors import FieldError, invalid, required
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["autoscaler_errors"]


def autoscaler_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of a HorizontalPodAutoscaler."""
    least, most, target = spec.get("minReplicas"), spec.get("maxReplicas", 0), spec.get("scaleTargetRef") or {}
    errors: list[FieldError] = []
    if least is not None and least < 1:
        errors.append(invalid("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most == 0:
        errors.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif most < 0:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to 1"))
    if least is not None and most < least:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    errors += [required(f"spec.scaleTargetRef.{name}") for name in ("kind", "name") if not target.get(name)]
    version = target.get("apiVersion", "")
    if not version.partition("/")[2] and target.get("kind") != "ReplicationController":
        text = "apiVersion must specify API group"
        errors.append(invalid("spec.scaleTargetRef.apiVersion", version, text))
    return errors
