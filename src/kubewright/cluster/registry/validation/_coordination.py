"""Validation of Leases."""

from __future__ import annotations

from kubewright.cluster.machinery._field_errors import FieldError, invalid
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import (
    at_least_zero,
)

__all__ = ["lease_errors"]


def lease_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of a Lease."""
    seconds = spec.get("leaseDurationSeconds")
    errors = []
    if seconds is not None and seconds <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    return errors + at_least_zero(spec, "leaseTransitions", "spec")
