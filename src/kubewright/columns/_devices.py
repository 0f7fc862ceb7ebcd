"""Table rows of devices: their classes, claims and slices."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kubewright.columns._cells import age_of, name_and_age, name_of, spec_of, status_of
from kubewright.columns._table import JSONObject

__all__ = ["claim", "named", "resource_slice"]


def named(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row of a device class or a template of claims: name and age."""
    return list(name_and_age(obj, now))


def claim(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row: pending, or allocated and perhaps reserved; and deleted, if it is being deleted."""
    deleted, status = bool(obj["metadata"].get("deletionTimestamp")), status_of(obj)
    states = ["deleted"] if deleted else []
    if status.get("allocation") is not None:
        states += ["allocated", "reserved"] if status.get("reservedFor") else ["allocated"]
    elif not deleted:
        states.append("pending")
    return [name_of(obj), ",".join(states), age_of(obj, now)]


def resource_slice(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row: node, driver and pool."""
    spec = spec_of(obj)
    pool = (spec.get("pool") or {}).get("name", "")
    return [name_of(obj), spec.get("nodeName", ""), spec.get("driver", ""), pool, age_of(obj, now)]
