"""Validation of PodDisruptionBudgets."""

from __future__ import annotations

from kubewright.cluster.machinery._field_errors import FieldError, invalid, not_supported
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import (
    at_least_zero,
    condition_errors,
    label_selector_errors,
    number_or_percent_errors,
)

__all__ = ["budget_errors", "budget_status_errors"]


def budget_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of a PodDisruptionBudget."""
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    errors: list[FieldError] = []
    if least is not None and most is not None:
        shown = {
            "MinAvailable": least,
            "Selector": spec.get("selector"),
            "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        errors.append(invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set"))
    errors += number_or_percent_errors(least, "spec.minAvailable", most=True)
    errors += number_or_percent_errors(most, "spec.maxUnavailable", most=True)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in ("AlwaysAllow", "IfHealthyBudget"):
        errors.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, ["AlwaysAllow", "IfHealthyBudget"]))
    return errors + label_selector_errors(spec.get("selector"), "spec.selector")


def budget_status_errors(status: JSONObject) -> list[FieldError]:
    """Validates the status of a PodDisruptionBudget."""
    errors = condition_errors(status.get("conditions") or (), "status.conditions")
    for number in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        errors += at_least_zero(status, number, "status")
    return errors
