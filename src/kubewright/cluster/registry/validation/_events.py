"""Validation of Events of both groups, in kube-apiserver's order. The rules of `events.k8s.io` are stricter."""

from __future__ import annotations

from typing import Any, Final

from kubewright.cluster.machinery._field_errors import FieldError, invalid, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import label_key_errors

__all__ = ["event_errors", "event_update_errors"]

_LIMITS: Final = {"reportingInstance": 128, "action": 128, "reason": 128}
_MAX_MESSAGE: Final = 1024
_TYPES: Final = ("Normal", "Warning")
# The names that the real server reports, and the fields of events.k8s.io/v1.
_FIELDS: Final = {
    "involvedObject": "regarding",
    "reason": "reason",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "type": "type",
    "eventTime": "eventTime",
    "action": "action",
    "related": "related",
    "reportingController": "reportingController",
    "reportingInstance": "reportingInstance",
}
_UNSET: Final = ("firstTimestamp", "lastTimestamp", "count", "source")
_OBJECTS: Final = ("involvedObject", "related")
_REFERENCE: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_GO_NAMES: Final = {"uid": "UID", "apiVersion": "APIVersion"}
_ABSENT: Final[dict[str, Any]] = {"count": 0, "firstTimestamp": None, "lastTimestamp": None, "eventTime": None}


def _field(event: JSONObject, name: str) -> Any:
    """Returns a field by the name of the real server's errors."""
    return event.get(_FIELDS[name] if _is_strict(event) else name)


def _is_strict(event: JSONObject) -> bool:
    return event.get("apiVersion") == "events.k8s.io/v1"


def event_errors(event: JSONObject) -> list[FieldError]:
    """Validates a new Event."""
    errors = _common_errors(event)
    if not _is_strict(event):
        return errors
    errors += _series_errors(event)
    if not event.get("eventTime"):
        errors.append(required("eventTime"))
    if event.get("type", "") not in _TYPES:
        errors.append(invalid("type", "", f"has invalid value: {event.get('type', '')}"))
    for name in _UNSET:
        value = _field(event, name)
        if any(value.values()) if isinstance(value, dict) else value:
            errors.append(invalid(name, "", "needs to be unset"))
    return errors


def event_update_errors(event: JSONObject, old: JSONObject) -> list[FieldError]:
    """Validates a changed Event. Through `events.k8s.io`, only its series may change."""
    errors = _common_errors(event)
    if not _is_strict(event):
        return errors
    if event.get("series") != old.get("series"):
        errors += _series_errors(event)
    # In the order of the real server, which reports the reason twice.
    for name in (
        *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reason"),
        *("type", "eventTime", "action", "related", "reportingController", "reportingInstance"),
    ):
        value, before = (_shown(name, _field(each, name)) for each in (event, old))
        if value != before:
            errors.append(invalid(name, value, "field is immutable"))
    return errors


def _shown(name: str, value: Any) -> Any:
    """Returns a value as the real server quotes it: a Go struct without JSON names."""
    if name in _OBJECTS:
        if value is None and name == "related":
            return None
        given = value or {}
        return {_GO_NAMES.get(part, part[0].upper() + part[1:]): given.get(part, "") for part in _REFERENCE}
    if name == "source":
        return {part.capitalize(): (value or {}).get(part, "") for part in ("component", "host")}
    return _ABSENT.get(name, "") if value is None else value


def _series_errors(event: JSONObject) -> list[FieldError]:
    series = event.get("series")
    if series is None:
        return []
    errors = [invalid("series.count", "", "should be at least 2")] if series.get("count", 0) < 2 else []
    return errors if series.get("lastObservedTime") else [*errors, required("series.lastObservedTime")]


def _common_errors(event: JSONObject) -> list[FieldError]:
    about = (_field(event, "involvedObject") or {}).get("namespace", "")
    namespace, place = event["metadata"].get("namespace", ""), "involvedObject.namespace"
    mismatch = invalid(place, about, "does not match event.namespace")
    if not event.get("eventTime"):
        agree = namespace in ("", "default") if not about else namespace == about
        return [] if agree else [mismatch]
    errors = [] if about or namespace in ("default", "kube-system") else [mismatch]
    strict = _is_strict(event)
    name = "reportingController" if strict else "reportingComponent"
    controller = event.get(name, "")
    errors += [] if controller else [required(name)]
    errors += label_key_errors(controller, name)
    for field, most in _LIMITS.items():
        value = event.get(field, "")
        errors += [] if value else [required(field)]
        if len(value.encode()) > most:
            errors.append(invalid(field, "", f"can have at most {most} characters"))
    if len((_field(event, "message") or "").encode()) > _MAX_MESSAGE:
        errors.append(invalid("message", "", f"can have at most {_MAX_MESSAGE} characters"))
    return errors
