"""Validation that ResourceSlices, ResourceClaims and DeviceClasses share, in kube-apiserver's order."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from kubewright.api.cel import CompileError, Environment, compile_expression, is_available, types
from kubewright.cluster.machinery._failures import unsupported
from kubewright.cluster.machinery._field_errors import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import label_key_errors
from kubewright.names import label_problems, label_value_problems, subdomain_problems

__all__ = [
    "EFFECTS",
    "binding_errors",
    "configuration_errors",
    "device_name_errors",
    "driver_errors",
    "fully_qualified_errors",
    "pool_name_errors",
    "qualified_errors",
    "raw_object_errors",
    "selectors_errors",
    "slice_errors",
    "subdomain_errors",
    "toleration_errors",
    "uid_errors",
]

_Item = TypeVar("_Item")

EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_OPERATORS: Final = ("Equal", "Exists")
_MAX_DRIVER: Final = 63
_MAX_ID: Final = 32
_MAX_POOL: Final = 253
_MAX_CONDITIONS: Final = 4
_MAX_SELECTORS: Final = 32
_MAX_EXPRESSION: Final = 10 * 1024
_MAX_PARAMETERS: Final = 10 * 1024
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IDENTIFIER_RULE: Final = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
)
_UID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OTHER_UID: Final = re.compile(rf"[0-9a-fA-F]{{32}}|(?:urn:uuid:|\{{)?{_UID.pattern}\}}?", re.IGNORECASE)
_UID_LENGTHS: Final = (32, 36, 38, 45)
_UID_RULE: Final = (
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal "
    "characters"
)
_DEVICE: Final = "kubernetes.DRADevice"
_BY_DOMAIN: Final = types.map_of(types.STRING, types.map_of(types.STRING, types.DYN))
_ENVIRONMENT: Final = Environment(
    {"device": types.struct(_DEVICE)},
    {
        _DEVICE: {
            "driver": types.STRING,
            "allowMultipleAllocations": types.BOOL,
            "attributes": _BY_DOMAIN,
            "capacity": types.map_of(types.STRING, types.map_of(types.STRING, types.QUANTITY)),
        }
    },
)


def slice_errors(
    items: Sequence[_Item] | None,
    path: str,
    item_errors: Callable[[_Item, str], list[FieldError]],
    *,
    most: int | None = None,
    key: Callable[[_Item], Hashable] | None = None,
) -> list[FieldError]:
    """Validates the items of a list, unless there are more than `most`. With `key`, rejects duplicates."""
    found = items or ()
    if most is not None and len(found) > most:
        return [too_many(path, len(found), most)]
    errors = [error for index, item in enumerate(found) for error in item_errors(item, f"{path}[{index}]")]
    seen: set[Hashable] = set()
    for index, item in enumerate(found if key else ()):
        assert key is not None
        if (value := key(item)) in seen:
            errors.append(duplicate(f"{path}[{index}]", value))
        seen.add(value)
    return errors


def driver_errors(name: str, path: str) -> list[FieldError]:
    """Validates the name of a driver."""
    if not name:
        return [required(path)]
    errors = [too_long(path, _MAX_DRIVER)] if len(name.encode()) > _MAX_DRIVER else []
    return errors + [invalid(path, name, problem) for problem in subdomain_problems(name.lower())]


def pool_name_errors(name: str, path: str) -> list[FieldError]:
    """Validates the name of a pool: subdomains that are separated by slashes."""
    if not name:
        return [required(path)]
    errors = [too_long(path, _MAX_POOL)] if len(name.encode()) > _MAX_POOL else []
    return errors + [error for part in name.split("/") for error in subdomain_errors(part, path)]


def subdomain_errors(name: str, path: str) -> list[FieldError]:
    """Validates a DNS subdomain."""
    return [invalid(path, name, problem) for problem in subdomain_problems(name)]


def device_name_errors(name: str, path: str) -> list[FieldError]:
    """Validates the name of a device, a request or a counter: a DNS label."""
    return [invalid(path, name, problem) for problem in label_problems(name)]


def qualified_errors(name: str, path: str) -> list[FieldError]:
    """Validates the name of an attribute or a capacity: an identifier, with an optional domain."""
    domain, slash, last = name.partition("/")
    if "/" in last:
        return []  # as on the real server
    if not slash:
        return _identifier_errors(domain, path)
    errors = driver_errors(domain, path) if domain else [invalid(path, "", "the domain must not be empty")]
    return errors + (_identifier_errors(last, path) if last else [invalid(path, "", "the name must not be empty")])


def fully_qualified_errors(name: str, path: str) -> list[FieldError]:
    """Validates the name of an attribute with its domain."""
    errors = qualified_errors(name, path)
    if "/" not in name:
        text = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(invalid(path, name, text))
    return errors


def _identifier_errors(name: str, path: str) -> list[FieldError]:
    errors = [too_long(path, _MAX_ID)] if len(name.encode()) > _MAX_ID else []
    return errors if _IDENTIFIER.fullmatch(name) else [*errors, invalid(path, name, _IDENTIFIER_RULE)]


def uid_errors(uid: str, path: str) -> list[FieldError]:
    """Validates the ID of a share."""
    if _UID.fullmatch(uid):
        return []
    if (length := len(uid.encode())) not in _UID_LENGTHS:
        return [invalid(path, uid, f"error validating uid: invalid UUID length: {length}")]
    other = _OTHER_UID.fullmatch(uid)
    return [invalid(path, uid, _UID_RULE if other else "error validating uid: invalid UUID format")]


def toleration_errors(each: JSONObject, path: str) -> list[FieldError]:
    """Validates a toleration of a device's taints."""
    operator, value, effect = each.get("operator", ""), each.get("value", ""), each.get("effect", "")
    errors = label_key_errors(each["key"], f"{path}.key") if each.get("key") else []
    if operator == "Exists":
        if value:
            errors.append(invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        errors += [invalid(f"{path}.value", value, problem) for problem in label_value_problems(value)]
    elif not operator:
        errors.append(required(f"{path}.operator"))
    else:
        errors.append(not_supported(f"{path}.operator", operator, _OPERATORS))
    if effect and effect not in EFFECTS:
        errors.append(not_supported(f"{path}.effect", effect, EFFECTS))
    return errors


def binding_errors(device: JSONObject, path: str) -> list[FieldError]:
    """Validates the conditions that a device waits for, and those that make its allocation fail."""
    wanted, failures = device.get("bindingConditions"), device.get("bindingFailureConditions")
    place, of_failures = f"{path}.bindingConditions", f"{path}.bindingFailureConditions"
    errors = slice_errors(wanted, place, label_key_errors, most=_MAX_CONDITIONS)
    errors += slice_errors(failures, of_failures, label_key_errors, most=_MAX_CONDITIONS)
    errors += _repeated(wanted or (), place)
    seen: set[str] = set()
    for index, name in enumerate(failures or ()):
        if name in seen:
            errors.append(duplicate(f"{of_failures}[{index}]", name))
        seen.add(name)
        if name in (wanted or ()):
            text = "bindingFailureConditions must not overlap with bindingConditions"
            errors.append(invalid(f"{of_failures}[{index}]", name, text))
    if failures and not wanted:
        errors.append(invalid(place, wanted, "bindingConditions are required to use bindingFailureConditions"))
    if wanted and not failures:
        text = "bindingFailureConditions are required to use bindingConditions"
        errors.append(invalid(of_failures, failures, text))
    return errors


def _repeated(names: Sequence[str], path: str) -> list[FieldError]:
    return [duplicate(f"{path}[{index}]", name) for index, name in enumerate(names) if name in names[:index]]


def selectors_errors(selectors: Sequence[JSONObject] | None, path: str) -> list[FieldError]:
    """Validates selectors of devices, whose CEL expressions must compile."""
    return slice_errors(selectors, path, _selector_errors, most=_MAX_SELECTORS)


def _selector_errors(selector: JSONObject, path: str) -> list[FieldError]:
    cel = selector.get("cel")
    if cel is None:
        return [required(f"{path}.cel")]
    text, place = cel.get("expression", ""), f"{path}.cel.expression"
    if len(text.encode()) > _MAX_EXPRESSION:
        return [too_long(place, _MAX_EXPRESSION)]
    if not is_available():
        return []
    try:
        result = compile_expression(text, _ENVIRONMENT).checked.type
    except CompileError as error:
        if "undeclared reference to 'cel'" in str(error):
            raise unsupported("cel.bind in selectors of devices") from None
        return [invalid(place, text, f"compilation failed: {error}")]
    if result == types.BOOL or result.is_dyn:
        return []
    return [invalid(place, text, f"must evaluate to bool or the unknown type, not {result}")]


def configuration_errors(config: JSONObject, path: str) -> list[FieldError]:
    """Validates a configuration of devices, which is opaque to Kubernetes."""
    opaque, place = config.get("opaque"), f"{path}.opaque"
    if opaque is None:
        return [required(place)]
    errors = driver_errors(opaque.get("driver", ""), f"{place}.driver")
    return errors + raw_object_errors(opaque.get("parameters"), f"{place}.parameters", _MAX_PARAMETERS)


def raw_object_errors(value: Any, path: str, longest: int) -> list[FieldError]:
    """Validates an object of any content, up to a size."""
    if value is None:
        return [required(path)]
    if len(msgspec.json.encode(value)) > longest:
        return [too_long(path, longest)]
    return [] if isinstance(value, dict) else [invalid(path, "<value omitted>", "must be a valid JSON object")]
