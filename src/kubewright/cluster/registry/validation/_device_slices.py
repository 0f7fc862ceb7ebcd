"""Validation of ResourceSlices, in kube-apiserver's order."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from kubewright.api import Quantity
from kubewright.cluster.machinery._field_errors import (
    FieldError,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import label_key_errors
from kubewright.cluster.registry.validation._devices import (
    EFFECTS,
    binding_errors,
    device_name_errors,
    driver_errors,
    pool_name_errors,
    qualified_errors,
    slice_errors,
    subdomain_errors,
)
from kubewright.cluster.registry.validation._placement import node_terms_errors
from kubewright.names import label_value_problems

__all__ = ["slice_spec_errors"]

_MAX_DEVICES: Final = 128
_MAX_ADVANCED_DEVICES: Final = 64
_MAX_SETS: Final = 8
_MAX_COUNTERS: Final = 32
_MAX_CONSUMED: Final = 2
_MAX_TAINTS: Final = 16
_MAX_ENTRIES: Final = 32
_MAX_VALUES: Final = 48
_MAX_TEXT: Final = 64
_MAX_OPTIONS: Final = 10
_ONE_PLACE: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_ONE_DEVICE_PLACE: Final = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
_NO_DEVICE_PLACE: Final = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the "
    "ResourceSlice spec"
)
_IMMUTABLE: Final = "field is immutable"
_NUMBER: Final = r"(0|[1-9]\d*)"
_RELEASE: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD: Final = r"[0-9a-zA-Z-]+"
_VERSION: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_RELEASE}(\.{_RELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
)
# The fields of an attribute, as the real server quotes them.
_ATTRIBUTE: Final = {
    "int": "IntValue",
    "bool": "BoolValue",
    "string": "StringValue",
    "version": "VersionValue",
    "ints": "IntValues",
    "bools": "BoolValues",
    "strings": "StringValues",
    "versions": "VersionValues",
}
_LISTS: Final = ("bools", "ints", "strings", "versions")


def slice_spec_errors(spec: JSONObject, old: JSONObject | None = None) -> list[FieldError]:
    """Validates the spec of a ResourceSlice; `old` is the stored one at an update."""
    pool = spec.get("pool") or {}
    errors = driver_errors(spec.get("driver", ""), "spec.driver") + _pool_errors(pool)
    if old is not None:
        changes = [
            ("spec.pool.name", pool.get("name", ""), (old.get("pool") or {}).get("name", "")),
            ("spec.driver", spec.get("driver", ""), old.get("driver", "")),
            ("spec.nodeName", spec.get("nodeName"), old.get("nodeName")),
        ]
        errors += [invalid(path, value, _IMMUTABLE) for path, value, before in changes if value != before]
    errors += _place_errors(spec)
    if spec.get("sharedCounters") is not None and spec.get("devices") is not None:
        errors.append(invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
    devices = spec.get("devices") or ()
    before = {each.get("name"): each for each in (old or {}).get("devices") or ()}
    alone = spec.get("perDeviceNodeSelection") is True
    errors += slice_errors(
        devices,
        "spec.devices",
        lambda device, path: _device_errors(device, before.get(device.get("name")), path, placed_alone=alone),
        most=_MAX_ADVANCED_DEVICES if any(map(_is_advanced, devices)) else _MAX_DEVICES,
        key=lambda device: device.get("name", ""),
    )
    return errors + slice_errors(
        spec.get("sharedCounters"),
        "spec.sharedCounters",
        _counter_set_errors,
        most=_MAX_SETS,
        key=lambda each: each.get("name", ""),
    )


def _pool_errors(pool: JSONObject) -> list[FieldError]:
    errors = pool_name_errors(pool.get("name", ""), "spec.pool.name")
    if (count := pool.get("resourceSliceCount", 0)) <= 0:
        errors.append(invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"))
    if (generation := pool.get("generation", 0)) < 0:
        errors.append(invalid("spec.pool.generation", generation, "must be greater than or equal to zero"))
    return errors


def _place_errors(spec: JSONObject) -> list[FieldError]:
    """Validates that a slice names its nodes in one way."""
    errors, given = _node_errors(spec, "spec", "must be either unset or set to a non-empty string")
    terms = (spec.get("nodeSelector") or {}).get("nodeSelectorTerms")
    if spec.get("nodeSelector") is not None and len(terms or ()) != 1:
        text = "must have exactly one node selector term"
        errors.append(invalid("spec.nodeSelector.nodeSelectorTerms", terms, text))
    for field in ("allNodes", "perDeviceNodeSelection"):
        errors += _flag_errors(spec, field, "spec", given)
    if not given:
        errors.append(required("spec", _ONE_PLACE))
    elif len(given) > 1:
        errors.append(invalid("spec", f"{{{', '.join(given)}}}", f"{_ONE_PLACE}, but multiple fields are set"))
    return errors


def _node_errors(holder: JSONObject, path: str, empty: str) -> tuple[list[FieldError], list[str]]:
    """Validates `nodeName` and `nodeSelector`. Returns the fields that are set, too."""
    errors: list[FieldError] = []
    given = []
    if (name := holder.get("nodeName")) is not None:
        if name:
            given.append("`nodeName`")
            errors += subdomain_errors(name, f"{path}.nodeName")
        else:
            errors.append(invalid(f"{path}.nodeName", name, empty))
    if (selector := holder.get("nodeSelector")) is not None:
        given.append("`nodeSelector`")
        errors += node_terms_errors(selector.get("nodeSelectorTerms") or (), f"{path}.nodeSelector")
    return errors, given


def _flag_errors(holder: JSONObject, field: str, path: str, given: list[str]) -> list[FieldError]:
    value = holder.get(field)
    if value:
        given.append(f"`{field}`")
    return [invalid(f"{path}.{field}", value, "must be either unset or set to true")] if value is False else []


def _is_advanced(device: JSONObject) -> bool:
    attributes = (device.get("attributes") or {}).values()
    lists = any(each.get(field) is not None for each in attributes for field in _LISTS)
    return bool(device.get("taints") or device.get("consumesCounters") or lists)


def _device_errors(device: JSONObject, old: JSONObject | None, path: str, *, placed_alone: bool) -> list[FieldError]:
    errors = device_name_errors(device.get("name", ""), f"{path}.name")
    attributes, capacities = device.get("attributes") or {}, device.get("capacity") or {}
    if (count := len(attributes) + len(capacities)) > _MAX_ENTRIES:
        text = f"the total number of attributes and capacities must not exceed {_MAX_ENTRIES}"
        errors.append(invalid(path, count, text))
    count = sum(sum(len(each.get(field) or ()) for field in _LISTS) or 1 for each in attributes.values())
    if count > _MAX_VALUES:
        errors.append(invalid(path, count, f"the total number of attribute values must not exceed {_MAX_VALUES}"))
    errors += _map_errors(attributes, f"{path}.attributes", qualified_errors, _attribute_errors)
    of_capacity = _shared_capacity_errors if device.get("allowMultipleAllocations") else _capacity_errors
    errors += _map_errors(capacities, f"{path}.capacity", qualified_errors, of_capacity)
    if old is None or old.get("taints") != device.get("taints"):
        errors += slice_errors(device.get("taints"), f"{path}.taints", _taint_errors, most=_MAX_TAINTS)
    errors += slice_errors(
        device.get("consumesCounters"),
        f"{path}.consumesCounters",
        lambda each, place: _counters_errors(each, place, "counterSet"),
        most=_MAX_CONSUMED,
        key=lambda each: each.get("counterSet", ""),
    )
    errors += _device_place_errors(device, path, placed_alone=placed_alone)
    return errors + binding_errors(device, path)


def _device_place_errors(device: JSONObject, path: str, *, placed_alone: bool) -> list[FieldError]:
    if not placed_alone:
        fields = ("nodeName", "nodeSelector", "allNodes")
        given = any(device.get(field) is not None for field in fields)
        return [invalid(path, None, _NO_DEVICE_PLACE)] if given else []
    errors, names = _node_errors(device, path, "must not be empty")
    errors += _flag_errors(device, "allNodes", path, names)
    if not names:
        errors.append(required(path, _ONE_DEVICE_PLACE))
    elif len(names) > 1:
        errors.append(invalid(path, f"{{{', '.join(names)}}}", _ONE_DEVICE_PLACE))
    return errors


def _map_errors(
    values: Mapping[str, Any],
    path: str,
    key_errors: Callable[[str, str], list[FieldError]],
    value_errors: Callable[[Any, str], list[FieldError]],
    most: int | None = None,
) -> list[FieldError]:
    if most is not None and len(values) > most:
        return [too_many(path, len(values), most)]
    errors: list[FieldError] = []
    for key, value in values.items():
        errors += key_errors(key, path) + value_errors(value, f"{path}[{_shortened(key)}]")
    return errors


def _shortened(key: str, most: int = 63 + 1 + 32) -> str:
    kept = most - 3
    return key if len(key) <= most else f"{key[: (kept + 1) // 2]}...{key[len(key) - kept // 2 :]}"


def _attribute_errors(attribute: JSONObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    given = [field for field in ("bool", "int", "string", "version", *_LISTS) if attribute.get(field) is not None]
    for field in given:
        value, place = attribute[field], f"{path}.{field}"
        if field in _LISTS and not value:
            errors.append(invalid(place, value, "must not be empty if specified"))
        items = (
            [(item, f"{place}[{index}]") for index, item in enumerate(value)] if field in _LISTS else [(value, place)]
        )
        for item, where in items if field in ("string", "version", "strings", "versions") else ():
            if field.startswith("version") and not _VERSION.fullmatch(item):
                errors.append(invalid(where, item, "must be a string compatible with semver.org spec 2.0.0"))
            if len(item.encode()) > _MAX_TEXT:
                errors.append(too_long(where, _MAX_TEXT))
    if len(given) != 1:
        shown = {name: attribute.get(field) for field, name in _ATTRIBUTE.items()} if given else ""
        errors.append(invalid(path, shown, "exactly one value must be specified"))
    return errors


def _capacity_errors(capacity: JSONObject, path: str) -> list[FieldError]:
    given = capacity.get("requestPolicy") is not None
    return [forbidden(f"{path}.requestPolicy", "allowMultipleAllocations must be true")] if given else []


def _shared_capacity_errors(capacity: JSONObject, path: str) -> list[FieldError]:
    """Validates how a capacity can be divided."""
    policy, place = capacity.get("requestPolicy") or {}, f"{path}.requestPolicy"
    values, span, most = policy.get("validValues"), policy.get("validRange"), capacity.get("value", "0")
    if values and span is not None:
        text = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        return [forbidden(place, text)]
    if not values and span is None:
        return []
    if (chosen := policy.get("default")) is None:
        return [required(f"{place}.default", f"required when {'validValues' if values else 'validRange'} is defined")]
    if values:
        return _options_errors(values, chosen, most, f"{place}.validValues")
    return _range_errors(span or {}, chosen, most, f"{place}.validRange")


def _options_errors(values: list[str], chosen: str, most: str, path: str) -> list[FieldError]:
    amounts = [Quantity(value) for value in values]
    errors = [
        invalid(f"{path}[{index}]", values[index], "values must be sorted in ascending order")
        for index in range(1, len(values))
        if amounts[index - 1] > amounts[index]
    ]
    text = f"option is larger than capacity value: {most}"
    errors += slice_errors(
        values,
        path,
        lambda value, place: [invalid(place, value, text)] if Quantity(value) > Quantity(most) else [],
        most=_MAX_OPTIONS,
        key=lambda value: str(Quantity(value).value()),
    )
    if Quantity(chosen) not in amounts:
        errors.append(invalid(path, chosen, "default value is not valid according to the requestPolicy"))
    return errors


def _range_errors(span: JSONObject, chosen: str, most: str, path: str) -> list[FieldError]:
    least, highest, step = span.get("min"), span.get("max"), span.get("step")
    if least is None:
        return [required(f"{path}.min", "required when validRange is defined")]
    amount, limit, low = Quantity(chosen), Quantity(most), Quantity(least)
    errors = []
    if low > limit:
        errors.append(invalid(f"{path}.min", least, f"min is larger than capacity value: {most}"))
    if amount < low:
        errors.append(invalid(f"{path}.min", chosen, f"default is less than min: {least}"))
    if highest is not None:
        if low > Quantity(highest):
            errors.append(invalid(f"{path}.max", least, f"min is larger than max: {highest}"))
        if Quantity(highest) > limit:
            errors.append(invalid(f"{path}.max", highest, f"max is larger than capacity value: {most}"))
        if amount > Quantity(highest):
            errors.append(invalid(f"{path}.max", chosen, f"default is more than max: {highest}"))
    return errors if step is None else errors + _step_errors(span, chosen, most, f"{path}.step")


def _step_errors(span: JSONObject, chosen: str, most: str, path: str) -> list[FieldError]:
    least, highest, step = span["min"], span.get("max"), span["step"]
    errors = []
    if (first := Quantity(least) + Quantity(step)) > Quantity(most):
        errors.append(invalid(path, step, f"one step {first} is larger than capacity value: {most}"))
    size, low = Quantity(step).value(), Quantity(least).value()
    for value in (chosen, highest):
        if value is not None and size and (Quantity(value).value() - low) % size:
            text = f"value is not a multiple of a given step ({step}) from ({least})"
            errors.append(invalid(path, value, text))
    return errors


def _taint_errors(taint: JSONObject, path: str) -> list[FieldError]:
    effect, value = taint.get("effect", ""), taint.get("value", "")
    errors = label_key_errors(taint.get("key", ""), f"{path}.key")
    errors += [invalid(f"{path}.value", value, problem) for problem in label_value_problems(value)]
    if not effect:
        errors.append(required(f"{path}.effect"))
    elif effect not in EFFECTS:
        errors.append(not_supported(f"{path}.effect", effect, EFFECTS))
    return errors


def _counter_set_errors(counters: JSONObject, path: str) -> list[FieldError]:
    return _counters_errors(counters, path, "name")


def _counters_errors(holder: JSONObject, path: str, field: str) -> list[FieldError]:
    """Validates a set of counters; `field` is the one that names it."""
    name, counters = holder.get(field, ""), holder.get("counters")
    errors = device_name_errors(name, f"{path}.{field}") if name else [required(f"{path}.{field}")]
    if not counters:
        return [*errors, required(f"{path}.counters")]
    return errors + _map_errors(counters, f"{path}.counters", device_name_errors, lambda *_: [], _MAX_COUNTERS)
