"""CEL's own functions and operators: arithmetic, comparison, conversion, times, optional values.

`IMPLEMENTATIONS` has a Python function for each name that `_declarations` declares, except for the operators that do
not evaluate all of their operands. Arguments are runtime values; the target of a member function comes first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from kubewright.api.cel._declarations import FORMATS
from kubewright.api.cel._regexes import matches
from kubewright.api.cel._times import duration_text, parse_duration, parse_timestamp, part_of, timestamp_text
from kubewright.api.cel._values import (
    NONE,
    Duration,
    EvaluationError,
    Optional,
    Struct,
    Timestamp,
    Uint,
    compare,
    equal,
    lookup,
    no_overload,
    type_of_value,
)
from kubewright.api.cel.functions import _kubernetes, _lists, _strings

__all__ = ["IMPLEMENTATIONS"]

_INT64: Final = 2**63
_UINT64: Final = 2**64
_TRUE: Final = ("1", "t", "T", "true", "TRUE", "True")
_FALSE: Final = ("0", "f", "F", "false", "FALSE", "False")


def _int(value: int) -> int:
    if not -_INT64 <= value < _INT64:
        raise EvaluationError("integer overflow")
    return value


def _uint(value: int) -> Uint:
    if not 0 <= value < _UINT64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(value)


def _kind(value: Any) -> str:
    return type_of_value(value).name


# Arithmetic


def _add(one: Any, other: Any) -> Any:
    if one.__class__ is int and other.__class__ is int:
        return _int(one + other)
    match _kind(one), _kind(other):
        case "uint", "uint":
            return _uint(int(one) + int(other))
        case ("double", "double") | ("string", "string") | ("bytes", "bytes") | ("list", "list"):
            return one + other
        case "duration", "duration":
            return Duration(one.nanoseconds + other.nanoseconds)
        case ("timestamp", "duration") | ("duration", "timestamp"):
            return Timestamp(one.nanoseconds + other.nanoseconds)
    raise no_overload()


def _subtract(one: Any, other: Any) -> Any:
    match _kind(one), _kind(other):
        case "int", "int":
            return _int(one - other)
        case "uint", "uint":
            return _uint(int(one) - int(other))
        case "double", "double":
            return one - other
        case ("duration", "duration") | ("timestamp", "timestamp"):
            return Duration(one.nanoseconds - other.nanoseconds)
        case "timestamp", "duration":
            return Timestamp(one.nanoseconds - other.nanoseconds)
    raise no_overload()


def _multiply(one: Any, other: Any) -> Any:
    match _kind(one), _kind(other):
        case "int", "int":
            return _int(one * other)
        case "uint", "uint":
            return _uint(int(one) * int(other))
        case "double", "double":
            return one * other
    raise no_overload()


def _divide(one: Any, other: Any) -> Any:
    match _kind(one), _kind(other):
        case ("int", "int") | ("uint", "uint"):
            if other == 0:
                raise EvaluationError("division by zero")
            quotient = abs(one) // abs(other)
            quotient = quotient if (one < 0) == (other < 0) else -quotient
            return Uint(quotient) if isinstance(one, Uint) else _int(quotient)
        case "double", "double":
            if other == 0:
                return (
                    math.nan if one == 0 or math.isnan(one) else math.copysign(math.inf, one) * math.copysign(1, other)
                )
            return one / other
    raise no_overload()


def _modulo(one: Any, other: Any) -> Any:
    match _kind(one), _kind(other):
        case ("int", "int") | ("uint", "uint"):
            if other == 0:
                raise EvaluationError("modulus by zero")
            rest = abs(one) % abs(other)
            return Uint(rest) if isinstance(one, Uint) else (-rest if one < 0 else rest)
    raise no_overload()


def _negate(value: Any) -> Any:
    match _kind(value):
        case "int":
            return _int(-value)
        case "double":
            return -value
    raise no_overload()


def _not(value: Any) -> bool:
    if not isinstance(value, bool):
        raise no_overload()
    return not value


def _in(element: Any, container: Any) -> bool:
    if isinstance(container, list):
        return any(equal(element, each) for each in container)
    if isinstance(container, dict | Struct):
        return any(equal(element, key) for key in container)
    raise no_overload()


def _size(value: Any) -> int:
    if not isinstance(value, str | bytes | list | dict | Struct):
        raise no_overload()
    return len(value)


# Conversion


def _conversion_error(value: Any, name: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{_long(_kind(value))}' to '{_long(name)}'")


def _long(name: str) -> str:
    return {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}.get(name, name)


def _to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in (*_TRUE, *_FALSE):
        return value in _TRUE
    raise _conversion_error(value, "bool")


def _to_bytes(value: Any) -> bytes:
    match value:
        case bytes():
            return value
        case str():
            return value.encode()
    raise _conversion_error(value, "bytes")


def _to_double(value: Any) -> float:
    match _kind(value):
        case "int" | "uint" | "double":
            return float(value)
        case "string":
            try:
                return float(value) if value == value.strip() and "_" not in value else float("")
            except ValueError:
                pass
    raise _conversion_error(value, "double")


def _to_int(value: Any) -> int:
    match _kind(value):
        case "int" | "uint":
            return _int(int(value))
        case "double":
            if not -_INT64 < value < _INT64:
                raise EvaluationError("integer overflow")
            return int(value)
        case "duration":
            return int(value.nanoseconds)
        case "timestamp":
            return int(value.nanoseconds // 10**9)
        case "string" if value.lstrip("+-").isdigit() and value.isascii() and len(value.lstrip("+-")) >= len(value) - 1:
            if -_INT64 <= int(value) < _INT64:
                return int(value)
    raise _conversion_error(value, "int")


def _to_uint(value: Any) -> Uint:
    match _kind(value):
        case "int" | "uint":
            return _uint(int(value))
        case "double":
            if not 0 <= value < _UINT64:
                raise EvaluationError("unsigned integer overflow")
            return Uint(value)
        case "string" if value.isdigit() and value.isascii() and int(value) < _UINT64:
            return Uint(value)
    raise _conversion_error(value, "uint")


def _to_string(value: Any) -> str:
    match _kind(value):
        case "string":
            return str(value)
        case "bool":
            return "true" if value else "false"
        case "int" | "uint":
            return str(int(value))
        case "double":
            return _strings.general(value)
        case "bytes":
            try:
                return bytes(value).decode()
            except UnicodeDecodeError:
                raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None
        case "duration":
            return duration_text(value)
        case "timestamp":
            return timestamp_text(value)
        case "net.IP" | "net.CIDR":
            return str(value)
        case "type":
            return str(value.name)
    raise _conversion_error(value, "string")


def _to_duration(value: Any) -> Duration:
    match value:
        case Duration():
            return value
        case str() if (made := parse_duration(value)) is not None:
            return made
    raise _conversion_error(value, "duration")


def _to_timestamp(value: Any) -> Timestamp:
    match value:
        case Timestamp():
            return value
        case str() if (made := parse_timestamp(value)) is not None:
            return made
        case int() if _kind(value) == "int":
            return Timestamp(value * 10**9)
    raise _conversion_error(value, "timestamp")


# Comparison, times, optional values


def _ordered(holds: Callable[[int], bool]) -> Callable[[Any, Any], bool]:
    return lambda one, other: holds(compare(one, other))


def _part(name: str) -> Callable[..., int]:
    def get(value: Any, zone: str = "") -> int:
        if isinstance(value, Duration):
            units = {"getHours": 3600 * 10**9, "getMinutes": 60 * 10**9, "getSeconds": 10**9, "getMilliseconds": 10**6}
            return int(math.copysign(abs(value.nanoseconds) // units[name], value.nanoseconds))
        if not isinstance(value, Timestamp):
            raise no_overload()
        return part_of(value, name, zone)

    return get


def _matches(text: Any, pattern: Any) -> bool:
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise no_overload()
    return matches(text, pattern)


def _non_zero(value: Any) -> Optional:
    is_zero = (
        value is None or value in (0, 0.0, "", b"", False) if not isinstance(value, list | dict | Struct) else not value
    )
    return NONE if is_zero else Optional(value)


def _or(one: Any, other: Any) -> Any:
    return one if one.is_there else other


def _or_value(one: Any, other: Any) -> Any:
    return one.value if one.is_there else other


def _map_insert(target: dict[Any, Any], *more: Any) -> dict[Any, Any]:
    added = more[0] if len(more) == 1 else {more[0]: more[1]}
    for key in added:
        if key in target:
            raise EvaluationError(f"insert failed: key {key} already exists")
    return {**target, **added}


IMPLEMENTATIONS: Final[dict[str, Callable[..., Any]]] = {
    "!_": _not,
    "-_": _negate,
    "_+_": _add,
    "_-_": _subtract,
    "_*_": _multiply,
    "_/_": _divide,
    "_%_": _modulo,
    "_<_": _ordered(lambda order: order < 0),
    "_<=_": _ordered(lambda order: order <= 0),
    "_>_": _ordered(lambda order: order > 0),
    "_>=_": _ordered(lambda order: order >= 0),
    "_[_]": lookup,
    "@in": _in,
    "size": _size,
    "type": type_of_value,
    "dyn": lambda value: value,
    "bool": _to_bool,
    "bytes": _to_bytes,
    "double": _to_double,
    "duration": _to_duration,
    "int": _to_int,
    "string": _to_string,
    "timestamp": _to_timestamp,
    "uint": _to_uint,
    "matches": _matches,
    "cel.@mapInsert": _map_insert,
    "optional.of": Optional,
    "optional.ofNonZeroValue": _non_zero,
    "optional.none": lambda: NONE,
    "value": Optional.get,
    "hasValue": lambda optional: optional.is_there,
    "or": _or,
    "orValue": _or_value,
    **{
        name: _part(name)
        for name in (
            "getFullYear",
            "getMonth",
            "getDayOfYear",
            "getDate",
            "getDayOfMonth",
            "getDayOfWeek",
            "getHours",
            "getMinutes",
            "getSeconds",
            "getMilliseconds",
        )
    },
    **_strings.IMPLEMENTATIONS,
    **_lists.IMPLEMENTATIONS,
    **_kubernetes.IMPLEMENTATIONS,
    **{f"format.{name}": _kubernetes.format_maker(name) for name in FORMATS},
}
# Strings and lists have functions of the same name.
for _name in ("indexOf", "lastIndexOf"):
    IMPLEMENTATIONS[_name] = lambda value, *more, _name=_name: (
        _strings.IMPLEMENTATIONS if isinstance(value, str) else _lists.IMPLEMENTATIONS
    )[_name](value, *more)
