"""Cells that the rows of several kinds share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from kubewright.columns._durations import age
from kubewright.columns._table import JSONObject

__all__ = [
    "NONE",
    "UNKNOWN",
    "UNSET",
    "age_of",
    "container_cells",
    "first_cell",
    "labels_cell",
    "name_and_age",
    "name_of",
    "selector_cell",
    "spec_of",
    "status_of",
]

NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"
UNSET: Final = "<unset>"


def name_of(obj: JSONObject) -> str:
    """Returns the name of an object."""
    name: str = obj["metadata"]["name"]
    return name


def age_of(obj: JSONObject, now: datetime) -> str:
    """Returns how long ago the object was created."""
    return age(obj["metadata"].get("creationTimestamp"), now)


def labels_cell(labels: JSONObject | None) -> str:
    """Returns labels as `key=value` pairs, sorted by key."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def selector_cell(selector: JSONObject | None) -> str:
    """Returns a LabelSelector in the syntax of `kubectl -l`."""
    if selector is None:
        return NONE
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for each in selector.get("matchExpressions") or ():
        values = ",".join(sorted(each.get("values") or ()))
        word = {"In": "in", "NotIn": "notin"}.get(each["operator"])
        plain = each["key"] if each["operator"] == "Exists" else f"!{each['key']}"
        parts.append(f"{each['key']} {word} ({values})" if word else plain)
    return ",".join(parts) or NONE


def container_cells(template: JSONObject) -> tuple[str, str]:
    """Returns the names and the images of a pod template's containers."""
    found = (template.get("spec") or {}).get("containers") or []
    return ",".join(each["name"] for each in found), ",".join(each.get("image", "") for each in found)


def spec_of(obj: JSONObject) -> JSONObject:
    """Returns the spec; an empty dict if there is none."""
    return obj.get("spec") or {}


def status_of(obj: JSONObject) -> JSONObject:
    """Returns the status; an empty dict if there is none."""
    return obj.get("status") or {}


def first_cell(found: Sequence[str], limit: int, separator: str = ",") -> str:
    """Returns the first values, and how many more there are."""
    shown = separator.join(found[:limit])
    return f"{shown} + {len(found) - limit} more..." if len(found) > limit else shown


def name_and_age(obj: JSONObject, now: datetime) -> tuple[str, str]:
    """Returns the two cells that most rows have."""
    return name_of(obj), age_of(obj, now)
