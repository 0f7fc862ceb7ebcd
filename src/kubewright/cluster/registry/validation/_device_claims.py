"""Validation of ResourceClaims, their templates and their statuses, and of DeviceClasses, in kube-apiserver's order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

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
from kubewright.cluster.registry.validation._addresses import interface_problems
from kubewright.cluster.registry.validation._common import condition_errors, label_map_errors
from kubewright.cluster.registry.validation._devices import (
    binding_errors,
    configuration_errors,
    device_name_errors,
    driver_errors,
    fully_qualified_errors,
    pool_name_errors,
    raw_object_errors,
    selectors_errors,
    slice_errors,
    subdomain_errors,
    toleration_errors,
    uid_errors,
)
from kubewright.cluster.registry.validation._placement import node_terms_errors
from kubewright.cluster.registry.validation._resources import is_extended
from kubewright.names import qualified_name_problems

__all__ = ["claim_spec_errors", "claim_status_errors", "claim_template_errors", "class_errors"]

_Requests: TypeAlias = Mapping[str, frozenset[str]]
"""The names of the requests of a claim, and of the alternatives of each."""

_MAX_ITEMS: Final = 32
"""The most requests, constraints, configurations and results of a claim."""
_MAX_ALTERNATIVES: Final = 8
_MAX_USERS: Final = 256
_MAX_DEVICE_CONDITIONS: Final = 8
_MAX_DATA: Final = 10 * 1024
_MAX_ADDRESSES: Final = 16
_MODES: Final = ("All", "ExactCount")
_SOURCES: Final = ("FromClaim", "FromClass")
_ONE_KIND: Final = "exactly one of `exactly` or `firstAvailable` is required"
_ONE_ATTRIBUTE: Final = (
    'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
)
_REFERENCE_RULE: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_TEMPLATE_FIELDS: Final = ("annotations", "labels")


def claim_spec_errors(spec: JSONObject, path: str) -> list[FieldError]:
    """Validates the spec of a new claim."""
    devices, place = spec.get("devices") or {}, f"{path}.devices"
    requests = _requests(devices)
    errors = slice_errors(
        devices.get("requests"),
        f"{place}.requests",
        _request_errors,
        most=_MAX_ITEMS,
        key=lambda each: each.get("name", ""),
    )
    errors += slice_errors(
        devices.get("constraints"),
        f"{place}.constraints",
        lambda each, where: _constraint_errors(each, where, requests),
        most=_MAX_ITEMS,
    )
    return errors + slice_errors(
        devices.get("config"),
        f"{place}.config",
        lambda each, where: _of_requests(each, where, requests) + configuration_errors(each, where),
        most=_MAX_ITEMS,
    )


def claim_template_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of a new template: the metadata and the spec of its claims."""
    metadata, path = spec.get("metadata") or {}, "spec.metadata"
    keys = metadata.get("annotations") or {}
    errors = [
        invalid(f"{path}.annotations", key, problem) for key in keys for problem in qualified_name_problems(key.lower())
    ]
    errors += label_map_errors(metadata.get("labels"), f"{path}.labels")
    given = [field for field, value in metadata.items() if value and field not in _TEMPLATE_FIELDS]
    errors += [forbidden(f"{path}.{'uID' if field == 'uid' else field}", "cannot be set") for field in given]
    return errors + claim_spec_errors(spec.get("spec") or {}, "spec.spec")


def class_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of a DeviceClass."""
    errors = selectors_errors(spec.get("selectors"), "spec.selectors")
    errors += slice_errors(spec.get("config"), "spec.config", configuration_errors, most=_MAX_ITEMS)
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended(name):
        errors.append(invalid("spec.extendedResourceName", name, "must be a valid extended resource name"))
    return errors


def _requests(devices: JSONObject) -> _Requests:
    return {
        each.get("name", ""): frozenset(other.get("name", "") for other in each.get("firstAvailable") or ())
        for each in devices.get("requests") or ()
    }


def _request_errors(request: JSONObject, path: str) -> list[FieldError]:
    errors = device_name_errors(request.get("name", ""), f"{path}.name")
    alternatives, exact = request.get("firstAvailable"), request.get("exactly")
    if alternatives and exact is not None:
        return [*errors, invalid(path, None, f"{_ONE_KIND}, but multiple fields are set")]
    if alternatives:
        return errors + slice_errors(
            alternatives,
            f"{path}.firstAvailable",
            lambda each, where: device_name_errors(each.get("name", ""), f"{where}.name") + _demand_errors(each, where),
            most=_MAX_ALTERNATIVES,
            key=lambda each: each.get("name", ""),
        )
    return [*errors, required(path, _ONE_KIND)] if exact is None else errors + _demand_errors(exact, f"{path}.exactly")


def _demand_errors(demand: JSONObject, path: str) -> list[FieldError]:
    """Validates which devices are requested, and how many."""
    name, mode, count = demand.get("deviceClassName", ""), demand.get("allocationMode", ""), demand.get("count", 0)
    place = f"{path}.deviceClassName"
    errors = subdomain_errors(name, place) if name else [required(place)]
    errors += selectors_errors(demand.get("selectors"), f"{path}.selectors")
    if mode == "All":
        if count:
            errors.append(invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'"))
    elif mode == "ExactCount":
        if count <= 0:
            errors.append(invalid(f"{path}.count", count, "must be greater than zero"))
    else:
        errors.append(not_supported(f"{path}.allocationMode", mode, _MODES))
    return errors + slice_errors(demand.get("tolerations"), f"{path}.tolerations", toleration_errors)


def _constraint_errors(constraint: JSONObject, path: str, requests: _Requests) -> list[FieldError]:
    errors = _of_requests(constraint, path, requests)
    for field in ("matchAttribute", "distinctAttribute"):
        if (name := constraint.get(field)) is not None:
            return errors + fully_qualified_errors(name, f"{path}.{field}")
    return [*errors, required(path, _ONE_ATTRIBUTE)]


def _of_requests(holder: JSONObject, path: str, requests: _Requests) -> list[FieldError]:
    return slice_errors(
        holder.get("requests"),
        f"{path}.requests",
        lambda name, where: _reference_errors(name, where, requests),
        most=_MAX_ITEMS,
        key=lambda name: name,
    )


def _reference_errors(name: str, path: str, requests: _Requests) -> list[FieldError]:
    first, *others = name.split("/")
    if len(others) > 1:
        return [invalid(path, name, _REFERENCE_RULE)]
    errors = [error for part in (first, *others) for error in device_name_errors(part, path)]
    known = first in requests and all(part in requests[first] for part in others)
    return errors if known else [*errors, invalid(path, name, _REFERENCE_RULE)]


def claim_status_errors(obj: JSONObject, old: JSONObject) -> list[FieldError]:
    """Validates the status of a claim: its users, its devices and its allocation."""
    status, before = obj.get("status") or {}, old.get("status") or {}
    requests = _requests((obj.get("spec") or {}).get("devices") or {})
    allocation, users = status.get("allocation"), status.get("reservedFor")
    errors = slice_errors(
        users, "status.reservedFor", _user_errors, most=_MAX_USERS, key=lambda each: each.get("uid", "")
    )
    allocated = [_device_id(each) for each in ((allocation or {}).get("devices") or {}).get("results") or ()]
    errors += slice_errors(
        status.get("devices"),
        "status.devices",
        lambda device, path: _device_status_errors(device, path, allocated),
        key=lambda device: tuple(_device_id(device).values()),
    )
    if users and allocation is None:
        errors.append(forbidden("status.reservedFor", "may not be specified when `allocated` is not set"))
    elif obj["metadata"].get("deletionTimestamp") and any(
        user not in (before.get("reservedFor") or ()) for user in users or ()
    ):
        text = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        errors.append(forbidden("status.reservedFor", text))
    if allocation is None:
        return errors
    if before.get("allocation") is None:
        return errors + _allocation_errors(allocation, requests)
    same = allocation == before["allocation"]
    return errors if same else [*errors, invalid("status.allocation", allocation, "field is immutable")]


def _user_errors(user: JSONObject, path: str) -> list[FieldError]:
    return [required(f"{path}.{field}") for field in ("resource", "name", "uid") if not user.get(field)]


def _device_id(device: JSONObject) -> dict[str, str]:
    """Returns the identity of a device, as the real server quotes it."""
    return {name: device.get(name[0].lower() + name[1:]) or "" for name in ("Driver", "Pool", "Device", "ShareID")}


def _device_status_errors(device: JSONObject, path: str, allocated: list[dict[str, str]]) -> list[FieldError]:
    errors = driver_errors(device.get("driver", ""), f"{path}.driver")
    errors += pool_name_errors(device.get("pool", ""), f"{path}.pool")
    errors += device_name_errors(device.get("device", ""), f"{path}.device")
    if (share := device.get("shareID")) is not None:
        errors += uid_errors(share, f"{path}.shareID")
    if (shown := _device_id(device)) not in allocated:
        errors.append(invalid(path, shown, "must be an allocated device in the claim"))
    conditions = device.get("conditions") or ()
    if len(conditions) > _MAX_DEVICE_CONDITIONS:
        errors.append(too_many(f"{path}.conditions", len(conditions), _MAX_DEVICE_CONDITIONS))
    errors += condition_errors(conditions, f"{path}.conditions")
    if device.get("data") is not None:
        errors += raw_object_errors(device["data"], f"{path}.data", _MAX_DATA)
    return errors + _network_errors(device.get("networkData") or {}, f"{path}.networkData")


def _network_errors(network: JSONObject, path: str) -> list[FieldError]:
    limits = (("interfaceName", 256), ("hardwareAddress", 128))
    errors = [
        too_long(f"{path}.{field}", most) for field, most in limits if len(network.get(field, "").encode()) > most
    ]
    return errors + slice_errors(
        network.get("ips"),
        f"{path}.ips",
        lambda address, place: [invalid(place, address, problem) for problem in interface_problems(address)],
        most=_MAX_ADDRESSES,
        key=lambda address: address,
    )


def _allocation_errors(allocation: JSONObject, requests: _Requests) -> list[FieldError]:
    devices, path = allocation.get("devices") or {}, "status.allocation"
    errors = slice_errors(
        devices.get("results"),
        f"{path}.devices.results",
        lambda result, place: _result_errors(result, place, requests),
        most=_MAX_ITEMS,
    )
    errors += slice_errors(
        devices.get("config"),
        f"{path}.devices.config",
        lambda config, place: _chosen_config_errors(config, place, requests),
        most=2 * _MAX_ITEMS,
    )
    if (selector := allocation.get("nodeSelector")) is not None:
        errors += node_terms_errors(selector.get("nodeSelectorTerms") or (), f"{path}.nodeSelector")
    return errors


def _result_errors(result: JSONObject, path: str, requests: _Requests) -> list[FieldError]:
    errors = _reference_errors(result.get("request", ""), f"{path}.request", requests)
    errors += driver_errors(result.get("driver", ""), f"{path}.driver")
    errors += pool_name_errors(result.get("pool", ""), f"{path}.pool")
    errors += device_name_errors(result.get("device", ""), f"{path}.device")
    errors += binding_errors(result, path)
    share = result.get("shareID")
    return errors if share is None else errors + uid_errors(share, f"{path}.shareID")


def _chosen_config_errors(config: JSONObject, path: str, requests: _Requests) -> list[FieldError]:
    source, place = config.get("source", ""), f"{path}.source"
    errors = [required(place)] if not source else []
    if source and source not in _SOURCES:
        errors.append(not_supported(place, source, _SOURCES))
    return errors + _of_requests(config, path, requests) + configuration_errors(config, path)
