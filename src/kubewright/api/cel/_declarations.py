"""The functions that an expression can call, with their overloads: CEL's own, its extensions, and Kubernetes'."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from kubewright.api.cel._signatures import SIGNATURES
from kubewright.api.cel._types import (
    BOOL,
    BYTES,
    CIDR,
    DOUBLE,
    DURATION,
    DYN,
    FORMAT,
    INT,
    IP,
    QUANTITY,
    SEMVER,
    STRING,
    TIMESTAMP,
    UINT,
    URL,
    Type,
    list_of,
    map_of,
    optional_of,
    parameter,
    type_of,
)

__all__ = ["AUTHORIZER_FUNCTIONS", "FORMATS", "TYPE_NAMES", "Overload", "functions"]


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function."""

    id: str
    arguments: tuple[Type, ...]
    result: Type
    is_member: bool


TYPE_NAMES: Final = {
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "duration": DURATION,
    "dyn": DYN,
    "int": INT,
    "string": STRING,
    "timestamp": TIMESTAMP,
    "uint": UINT,
    "URL": URL,
    "IP": IP,
    "CIDR": CIDR,
    "Quantity": QUANTITY,
    "Semver": SEMVER,
    "Format": FORMAT,
}

FORMATS: Final = (
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
)

AUTHORIZER_FUNCTIONS: Final = frozenset({"check", "allowed", "serviceAccount", "errored"})
"""Functions of Kubernetes' authorizer, which are not supported."""

_COMPARABLE: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SUMMABLE: Final = ("int", "uint", "double", "duration")
_WIRE_NAMES: Final = {"int": "int64", "uint": "uint64"}


_TIMES: Final = {
    "getFullYear": "year",
    "getMonth": "month",
    "getDayOfYear": "day_of_year",
    "getDate": "day_of_month_1_based",
    "getDayOfMonth": "day_of_month",
    "getDayOfWeek": "day_of_week",
    "getHours": "hours",
    "getMinutes": "minutes",
    "getSeconds": "seconds",
    "getMilliseconds": "milliseconds",
}
_COMPARISONS: Final = {"_<_": "less", "_<=_": "less_equals", "_>_": "greater", "_>=_": "greater_equals"}
_NUMBERS: Final = ("int", "uint", "double")
_SIGNATURE: Final = re.compile(r"  (?P<id>[^(.]+)(?P<member>\.?)\((?P<arguments>.*?)\) (?P<result>\S.*)")
_TOKEN: Final = re.compile(r"\w+|[(),]")


@cache
def functions() -> dict[str, tuple[Overload, ...]]:
    """Returns all functions by name, with their overloads in the order of resolution."""
    found: dict[str, list[Overload]] = {}
    name = ""
    for line in SIGNATURES.strip().splitlines():
        if not line.startswith(" "):
            name = line
            continue
        matched = _SIGNATURE.fullmatch(line)
        assert matched is not None, line
        arguments = tuple(_read_all(matched["arguments"]))
        (result,) = _read_all(matched["result"])
        found.setdefault(name, []).append(Overload(matched["id"], arguments, result, bool(matched["member"])))
    for name, overload in _generated():
        found.setdefault(name, []).append(overload)
    return {name: tuple(overloads) for name, overloads in found.items()}


def _generated() -> Iterator[tuple[str, Overload]]:
    """Yields overloads that many types have in common."""
    for operator, word in _COMPARISONS.items():
        for name in ("bool", *_NUMBERS, "string", "bytes", "timestamp", "duration"):
            pair = (TYPE_NAMES[name], TYPE_NAMES[name])
            yield operator, Overload(f"{word}_{_WIRE_NAMES.get(name, name)}", pair, BOOL, is_member=False)
        for one in _NUMBERS:
            for other in _NUMBERS:
                if one != other:
                    id_ = f"{word}_{_WIRE_NAMES.get(one, one)}_{_WIRE_NAMES.get(other, other)}"
                    yield operator, Overload(id_, (TYPE_NAMES[one], TYPE_NAMES[other]), BOOL, is_member=False)
    for function, word in _TIMES.items():
        zoned = "timestamp_to_seconds_tz" if word == "seconds" else f"timestamp_to_{word}_with_tz"
        yield function, Overload(f"timestamp_to_{word}", (TIMESTAMP,), INT, is_member=True)
        yield function, Overload(zoned, (TIMESTAMP, STRING), INT, is_member=True)
    element = parameter("T")
    for name in _COMPARABLE:
        type_ = TYPE_NAMES[name]
        many = list_of(type_)
        yield "isSorted", Overload(f"list_{name}_is_sorted_bool", (many,), BOOL, is_member=True)
        yield "max", Overload(f"list_{name}_max_{name}", (many,), type_, is_member=True)
        yield "min", Overload(f"list_{name}_min_{name}", (many,), type_, is_member=True)
        yield "sort", Overload(f"list_{name}_sort", (many,), many, is_member=True)
        keyed = (list_of(element), many)
        id_ = f"list_{name}_sortByAssociatedKeys"
        yield "@sortByAssociatedKeys", Overload(id_, keyed, list_of(element), is_member=True)
    for name in _SUMMABLE:
        many = list_of(TYPE_NAMES[name])
        yield "sum", Overload(f"list_{name}_sum_{name}", (many,), TYPE_NAMES[name], is_member=True)
    for name in FORMATS:
        yield f"format.{name}", Overload(f"format.{name}", (), FORMAT, is_member=False)


def _read_all(text: str) -> Iterator[Type]:
    tokens = _TOKEN.findall(text)
    while tokens:
        yield _read(tokens)
        if tokens:
            assert tokens.pop(0) == ","


def _read(tokens: list[str]) -> Type:
    name = tokens.pop(0)
    parameters = []
    if tokens and tokens[0] == "(":
        tokens.pop(0)
        while True:
            parameters.append(_read(tokens))
            if tokens.pop(0) == ")":
                break
    match name, parameters:
        case "list", [element]:
            return list_of(element)
        case "map", [key, value]:
            return map_of(key, value)
        case "optional", [value]:
            return optional_of(value)
        case "type", [value]:
            return type_of(value)
        case _ if len(name) == 1:
            return parameter(name)
        case _:
            return TYPE_NAMES[name]
