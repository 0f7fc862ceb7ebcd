"""Values that are not plain JSON types, and the hooks that teach them to msgspec.

`IntOrString` and `JSON` are annotations for fields. Every encoder and decoder of typed objects passes `enc_hook` and
`dec_hook` to msgspec, for `Quantity`, `MicroTime` and pydantic models.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any, Final

import msgspec

from kubewright.api._pydantic import decode_pydantic, encode_pydantic, is_pydantic
from kubewright.api._quantity import Quantity
from kubewright.api._time import MicroTime, format_micro_time, parse_time

__all__ = ["JSON", "IntOrString", "dec_hook", "enc_hook", "scaled_value"]

IntOrString = Annotated[int | str, msgspec.Meta(extra_json_schema={"x-kubernetes-int-or-string": True})]
"""An integer or a string, such as the target port of a Service (`8080` or `"http"`) or a surge (`1` or `"25%"`)."""

JSON = Annotated[Any, msgspec.Meta(extra_json_schema={"x-kubernetes-preserve-unknown-fields": True})]
"""Any JSON value. `Any`, because a recursive type would make every read of such a field a cast or a chain of checks."""

_PERCENTAGE: Final = re.compile(r"([+-]?[0-9]+)%", re.ASCII)


def scaled_value(value: int | str, total: int, *, round_up: bool) -> int:
    """Returns an integer unchanged, and a percentage such as `"25%"` as that part of the total, rounded up or down.

    Raises ValueError for any other string.
    """
    if isinstance(value, int):
        return value
    match = _PERCENTAGE.fullmatch(value)
    if match is None:
        raise ValueError(f"{value!r} is neither an integer nor a percentage such as '25%'")
    hundredths = int(match[1]) * total
    return -(-hundredths // 100) if round_up else hundredths // 100


def enc_hook(value: object) -> object:
    """Returns a value of a type that msgspec does not know as JSON. Raises NotImplementedError for other types."""
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, MicroTime):
        return format_micro_time(value)
    if is_pydantic(type(value)):
        return encode_pydantic(value)  # type: ignore[arg-type]  # its type is not known to be its class
    raise NotImplementedError(
        f"a {type(value).__name__} cannot be part of a Kubernetes object: convert it to JSON first"
    )


def dec_hook(kind: type, value: object) -> object:
    """Returns the value of a field of a type that msgspec does not know.

    Raises ValueError or TypeError for JSON that does not fit, and NotImplementedError for other types. msgspec adds the
    path of the field.
    """
    if kind is Quantity:
        if isinstance(value, str):
            return _shared_quantity(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return Quantity(value)
        raise TypeError(f"expected a quantity such as '500m', got {_json_type(value)}")
    if kind is MicroTime:
        if isinstance(value, str):
            return MicroTime.of(parse_time(value))
        raise TypeError(f"expected a time such as '2030-01-31T12:00:00.000000Z', got {_json_type(value)}")
    if is_pydantic(kind):
        return decode_pydantic(kind, value)
    raise NotImplementedError(f"a field of a Kubernetes object cannot be a {kind.__name__}")


# Quantities are immutable, and the same few occur many times in a cluster: objects share them.
_shared_quantity = lru_cache(maxsize=4096)(Quantity)


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    return {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }.get(type(value), type(value).__name__)
