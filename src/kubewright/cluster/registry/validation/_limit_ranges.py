"""Validation of LimitRanges, in kube-apiserver's order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubewright.api import Quantity
from kubewright.cluster.machinery._field_errors import FieldError, duplicate, forbidden, invalid, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import label_key_errors
from kubewright.cluster.registry.validation._resources import (
    is_overcommitted,
    resource_name_errors,
    standard_name_errors,
)

__all__ = ["limit_range_errors"]

_TYPES: Final = ("Pod", "Container", "PersistentVolumeClaim")
_DEFAULTS: Final = ("default", "defaultRequest")
# The smaller field, the larger one, the field that is reported, the field whose value is shown, and their words.
_ORDER: Final = (
    ("min", "max", "min", "min", "min", "max"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest", "min", "default request"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest", "default request", "max"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest", "default request", "default limit"),
    ("min", "default", "default", "min", "min", "default"),
    ("default", "max", "default", "max", "default", "max"),
)


def limit_range_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of a LimitRange."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, limit in enumerate(spec.get("limits") or ()):
        path, type_ = f"spec.limits[{index}]", limit.get("type", "")
        found = label_key_errors(type_, f"{path}.type")
        if not found and "/" not in type_ and type_ not in _TYPES:
            found.append(invalid(f"{path}.type", type_, "must be a standard limit type or fully qualified"))
        errors += found
        if type_ in seen:
            errors.append(duplicate(f"{path}.type", type_))
        seen.add(type_)
        errors += _name_errors(limit, path, type_)
        errors += [error for name in _names(limit) for error in _amount_errors(_amounts(limit, name), name, path)]
    return errors


def _name_errors(limit: JSONObject, path: str, type_: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("max", "min", *_DEFAULTS, "maxLimitRequestRatio"):
        given = limit.get(field) or {}
        if field == "maxLimitRequestRatio" and type_ == "PersistentVolumeClaim":
            ends = [limit.get(end) or {} for end in ("min", "max")]
            if not any("storage" in end for end in ends):
                text = "either minimum or maximum storage value is required, but neither was provided"
                errors.append(required(f"{path}.limits", text))
        if field in _DEFAULTS and type_ == "Pod":
            errors += [forbidden(f"{path}.{field}", "may not be specified when `type` is 'Pod'")] if given else []
            continue
        check = resource_name_errors if type_ in ("Pod", "Container") else standard_name_errors
        errors += [error for name in given for error in check(name, f"{path}.{field}[{name}]")]
    return errors


def _names(limit: JSONObject) -> list[str]:
    unused = _DEFAULTS if limit.get("type") == "Pod" else ()
    fields = [field for field in ("max", "min", *_DEFAULTS, "maxLimitRequestRatio") if field not in unused]
    return list(dict.fromkeys(name for field in fields for name in limit.get(field) or ()))


def _amounts(limit: JSONObject, name: str) -> dict[str, str]:
    return {field: values[name] for field, values in limit.items() if isinstance(values, dict) and name in values}


def _amount_errors(amounts: Mapping[str, str], name: str, path: str) -> list[FieldError]:
    """Validates that the amounts of one resource agree."""
    errors: list[FieldError] = []
    for low, high, field, value, what, other in _ORDER:
        if low in amounts and high in amounts and Quantity(amounts[low]) > Quantity(amounts[high]):
            text = f"{what} value {amounts[low]} is greater than {other} value {amounts[high]}"
            errors.append(invalid(f"{path}.{field}[{name}]", amounts[value], text))
    errors += _ratio_errors(amounts, f"{path}.maxLimitRequestRatio[{name}]")
    default, request = (amounts.get(field) for field in _DEFAULTS)
    if default and request and not is_overcommitted(name) and Quantity(default) != Quantity(request):
        words = f"default value {default} must equal to defaultRequest value {request} in {name}"
        errors.append(invalid(f"{path}.defaultRequest[{name}]", request, words))
    return errors


def _ratio_errors(amounts: Mapping[str, str], path: str) -> list[FieldError]:
    ratio = amounts.get("maxLimitRequestRatio")
    if ratio is None:
        return []
    errors = [invalid(path, ratio, f"ratio {ratio} is less than 1")] if Quantity(ratio) < Quantity("1") else []
    if "min" in amounts and "max" in amounts and (least := Quantity(amounts["min"]).milli_value()):
        most = Quantity(amounts["max"]).milli_value() / least
        if Quantity(ratio).milli_value() / 1000 > most:
            errors.append(invalid(path, ratio, f"ratio {ratio} is greater than max/min = {most:f}"))
    return errors
