"""Validation that many kinds share: non-negative numbers, ports, names, paths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from kubewright.cluster.machinery._field_errors import FieldError, duplicate, invalid, not_supported, required, too_long
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.names import label_problems, label_value_problems, qualified_name_problems

__all__ = [
    "MOST_SECONDS",
    "at_least_zero",
    "condition_errors",
    "config_key_problems",
    "id_errors",
    "key_errors",
    "label_key_errors",
    "label_map_errors",
    "label_requirement_errors",
    "label_selector_errors",
    "local_path_errors",
    "name_errors",
    "number_or_percent_errors",
    "one_of",
    "port_errors",
    "port_name_problems",
    "port_or_name_errors",
]

MOST_SECONDS: Final = 2**31 - 1
_MAX_PORT: Final = 65535
_STATES: Final = ("False", "True", "Unknown")
_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_REASON_RULE: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
    "'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
    "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"
)
_MAX_REASON: Final = 1024
_MAX_MESSAGE: Final = 32 * 1024
_PERCENT_RULE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
    "regex used for validation is '[0-9]+%')"
)

_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_RULE: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_MAX_KEY: Final = 253


def at_least_zero(spec: JSONObject, field: str, path: str) -> list[FieldError]:
    """Validates an optional number that must not be negative."""
    value = spec.get(field)
    if value is None or value >= 0:
        return []
    return [invalid(f"{path}.{field}", value, "must be greater than or equal to 0")]


def condition_errors(conditions: Sequence[JSONObject], path: str) -> list[FieldError]:
    """Validates the conditions of a status."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, each in enumerate(conditions):
        place, type_, reason = f"{path}[{index}]", each.get("type", ""), each.get("reason", "")
        if type_ in seen:
            errors.append(duplicate(f"{place}.type", type_))
        seen.add(type_)
        errors += label_key_errors(type_, f"{place}.type")
        if each.get("status", "") not in _STATES:
            errors.append(not_supported(f"{place}.status", each.get("status", ""), _STATES))
        if (generation := each.get("observedGeneration", 0)) < 0:
            errors.append(invalid(f"{place}.observedGeneration", generation, "must be greater than or equal to zero"))
        if not each.get("lastTransitionTime"):
            errors.append(required(f"{place}.lastTransitionTime"))
        if not reason:
            errors.append(required(f"{place}.reason"))
        elif not _REASON.fullmatch(reason):
            errors.append(invalid(f"{place}.reason", reason, _REASON_RULE))
        texts = (("reason", reason, _MAX_REASON), ("message", each.get("message", ""), _MAX_MESSAGE))
        errors += [too_long(f"{place}.{name}", most) for name, text, most in texts if len(text.encode()) > most]
    return errors


def config_key_problems(key: str) -> list[str]:
    """Returns the problems of a key of a ConfigMap or Secret, which becomes a file name."""
    problems = [f"must be no more than {_MAX_KEY} characters"] if len(key) > _MAX_KEY else []
    if not _KEY.fullmatch(key):
        return [*problems, _KEY_RULE]
    if key in (".", ".."):
        return [*problems, f"must not be '{key}'"]
    return [*problems, "must not start with '..'"] if key.startswith("..") else problems


def key_errors(data: JSONObject | None, field: str) -> list[FieldError]:
    """Validates the keys of ConfigMaps and Secrets, which become file names."""
    return [invalid(f"{field}[{key}]", key, problem) for key in data or () for problem in config_key_problems(key)]


def id_errors(spec: JSONObject, field: str, path: str) -> list[FieldError]:
    """Validates an optional user or group ID."""
    value = spec.get(field)
    if value is None or 0 <= value <= MOST_SECONDS:
        return []
    return [invalid(f"{path}.{field}", value, f"must be between 0 and {MOST_SECONDS}, inclusive")]


def port_errors(value: int, path: str) -> list[FieldError]:
    """Validates a port number."""
    good = 1 <= value <= _MAX_PORT
    return [] if good else [invalid(path, value, f"must be between 1 and {_MAX_PORT}, inclusive")]


def port_or_name_errors(value: Any, path: str) -> list[FieldError]:
    """Validates a port number or port name."""
    if isinstance(value, str):
        return [invalid(path, value, problem) for problem in port_name_problems(value)]
    return port_errors(value or 0, path)


def port_name_problems(name: str) -> list[str]:
    """Returns the error messages for a port name."""
    found = []
    if len(name) > 15:
        found.append("must be no more than 15 characters")
    if not re.fullmatch(r"[-a-z0-9]+", name):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search(r"[a-z]", name):
        found.append("must contain at least one letter (a-z)")
    if "--" in name:
        found.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return found


def one_of(obj: JSONObject, field: str, path: str, supported: Sequence[str]) -> list[FieldError]:
    """Validates a required enum value."""
    value = obj.get(field)
    if not value:
        return [required(f"{path}.{field}")]
    return [] if value in supported else [not_supported(f"{path}.{field}", value, supported)]


def name_errors(obj: JSONObject, path: str) -> list[FieldError]:
    """Validates a name that must be a DNS label."""
    name = obj.get("name")
    if not name:
        return [required(f"{path}.name")]
    return [invalid(f"{path}.name", name, problem) for problem in label_problems(name)]


def label_key_errors(key: str, path: str) -> list[FieldError]:
    """Validates a label key."""
    return [invalid(path, key, problem) for problem in qualified_name_problems(key)]


def label_map_errors(labels: JSONObject | None, path: str) -> list[FieldError]:
    """Validates the labels of an object or selector."""
    errors: list[FieldError] = []
    for key, value in (labels or {}).items():
        errors += label_key_errors(key, path)
        errors += [invalid(path, value, problem) for problem in label_value_problems(value)]
    return errors


def label_selector_errors(selector: JSONObject | None, path: str) -> list[FieldError]:
    """Validates a LabelSelector."""
    errors = label_map_errors((selector or {}).get("matchLabels"), f"{path}.matchLabels")
    for index, each in enumerate((selector or {}).get("matchExpressions") or ()):
        errors += label_requirement_errors(each, f"{path}.matchExpressions[{index}]")
    return errors


def label_requirement_errors(wanted: JSONObject, path: str, *, any_operator: bool = False) -> list[FieldError]:
    """Validates a requirement of a LabelSelector. With `any_operator`, unknown operators are accepted."""
    values = wanted.get("values")
    errors = requirement_errors(wanted, path, any_operator=any_operator)
    errors += label_key_errors(wanted.get("key", ""), f"{path}.key")
    for number, value in enumerate(values or ()):
        errors += [invalid(f"{path}.values[{number}]", value, problem) for problem in label_value_problems(value)]
    return errors


def requirement_errors(wanted: JSONObject, path: str, *, any_operator: bool) -> list[FieldError]:
    """Validates the operator of a requirement, and that it has values if the operator needs them."""
    operator, values = wanted.get("operator", ""), wanted.get("values")
    if operator in ("In", "NotIn"):
        return [] if values else [required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")]
    if operator in ("Exists", "DoesNotExist"):
        text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [FieldError("FieldValueForbidden", f"{path}.values", f"Forbidden: {text}")] if values else []
    return [] if any_operator else [invalid(f"{path}.operator", operator, "not a valid selector operator")]


def local_path_errors(value: str, path: str, *, reserved: bool = False) -> list[FieldError]:
    """Validates a relative path without `..`. With `reserved`, it must not start with `..`, which the kubelet uses."""
    errors = []
    if value.startswith("/"):
        errors.append(invalid(path, value, "must be a relative path"))
    if ".." in value.split("/"):
        errors.append(invalid(path, value, "must not contain '..'"))
    if reserved and value.startswith("..") and not value.startswith("../"):
        errors.append(invalid(path, value, "must not start with '..'"))
    return errors


def number_or_percent_errors(value: Any, path: str, *, most: bool) -> list[FieldError]:
    """Validates a non-negative number or a percentage; with `most`, at most 100%."""
    if isinstance(value, str):
        if not re.fullmatch(r"[0-9]+%", value):
            return [invalid(path, value, _PERCENT_RULE)]
        return [invalid(path, value, "must not be greater than 100%")] if most and int(value[:-1]) > 100 else []
    return [] if value is None or value >= 0 else [invalid(path, value, "must be greater than or equal to 0")]
