"""Objects of any built-in kind with plausible, extreme and invalid values, generated from its schema."""

from __future__ import annotations

import copy
import random
from typing import Any, Final

from kubewright.cluster.schema import Schema

__all__ = ["hostile_object", "spoiled_object"]

_LABEL: Final = "a" * 64
_STRINGS: Final = [
    "a", "a-b.c", "A_b", "", " ", "-", "/", "a/b", "a/b/c", ".", "..", "%", "50%", "101%", "-1%", "x%", "²%", "²", "٣",
    "é", "\u0000", "True", "None", "*", "kubernetes.io/metadata.name", _LABEL, "a" * 254, "{}", "[", "\\", "^(", "$(X)",
    "app", "1", "-1", "0", "1Gi", "1e3", "1e", "1.5.5", "0.1m", "1E100", "9" * 30, "1Ki1", "+", "Inf", "NaN", "100m",
    "10.0.0.1", "127.0.0.1", "10.0.0.0/8", "10.0.0.1/33", "::1", "fe80::1%eth0", "::/0", "010.1.1.1", "2001:DB8::1",
    "TCP", "tcp", "In", "Exists", "NotIn", "DoesNotExist", "Gt", "Always", "Never", "IPv4", "IPv6", "FQDN", "Equals",
    "2026-01-01T00:00:00Z", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00Z", "1h", "-1h", "1y", "* * * * *",
    "@every 1s", "https://x", "http://[::1", "data:,x", "Zg==", "Zg=", "-----BEGIN CERTIFICATE-----",
    "system:masters", "v1", "v1/v",
]  # fmt: skip
_PERCENTS: Final = ["0%", "50%", "101%", "-1%", "²%", "٣%", "%", "1.5%", "http", "HTTP_1"]
_NUMBERS: Final = [0, 1, -1, 2, 5, 80, 65535, 65536, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 1.5, -0.0]
_QUANTITIES: Final = ["1", "-1", "0", "1Gi", "100m", "1e3", "0.1m", "1E18", "9" * 19, "-1Mi", "1n"]
_READABLE: Final = {
    "date-time": ["2026-01-01T00:00:00.000000Z", "0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.000000Z"],
    "byte": ["", "Zg==", "eyJhIjoxfQ==", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t", "/////w=="],
}
"""Strings that the decoder accepts, by format; any other one ends the request before validation."""
_WRONG: Final[list[Any]] = [None, "", 0, [], {}, True, [None], {"a": None}]
_DEEPEST: Final = 7


def hostile_object(schema: Schema, rng: random.Random) -> dict[str, Any]:
    """Returns an object of the schema. A few of its values are wrong, the others have the right type."""
    made: dict[str, Any] = _value(schema, rng, 0, rng.choice([0.0, 0.0, 0.0, 0.02]))
    if not isinstance(made, dict):
        made = {}
    made.pop("apiVersion", None)
    made.pop("kind", None)
    metadata = made.get("metadata")
    if not isinstance(metadata, dict) or rng.random() < 0.8:
        made["metadata"] = metadata = {"name": rng.choice(["a", "b", "c"])}
    if rng.random() < 0.9:
        for field in ("namespace", "resourceVersion"):
            metadata.pop(field, None)
    return made


def spoiled_object(schema: Schema, valid: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Returns a valid object with other values in a few places, so that validation gets as far as these."""
    made: dict[str, Any] = copy.deepcopy(valid)
    for _ in range(rng.choice([1, 1, 2, 3])):
        _spoil(made, schema, rng)
    made.setdefault("metadata", {})
    if isinstance(made["metadata"], dict):
        made["metadata"].setdefault("name", rng.choice("abc"))
    return made


def _spoil(obj: Any, schema: Schema | None, rng: random.Random, depth: int = 0) -> None:
    """Changes one value at a random place below a map or list; creates the maps and lists on the way to it."""
    if schema is None or depth > _DEEPEST:
        return
    if isinstance(obj, list):
        if not obj or rng.random() < 0.1:
            obj.append({} if schema.items is not None and schema.items.is_map else _value(schema.items, rng, depth, 0))
        _spoil(rng.choice(obj), schema.items, rng, depth + 1)
        return
    if not isinstance(obj, dict):
        return
    inner = [name for name, value in obj.items() if isinstance(value, dict | list) and value]
    name = rng.choice(inner) if inner and rng.random() < 0.5 else rng.choice([*(schema.known or _STRINGS)])
    below = schema.fields.get(name) or schema.element
    if below is None or not (below.is_map or below.is_list) or rng.random() < 0.1:
        obj[name] = _value(below, rng, depth, 0.01)
        return
    if not isinstance(obj.get(name), dict | list):
        obj[name] = {} if below.is_map else []
    _spoil(obj[name], below, rng, depth + 1)


def _value(schema: Schema | None, rng: random.Random, depth: int, wrong: float) -> Any:
    if rng.random() < wrong:
        return rng.choice(_WRONG)
    if schema is None or depth > _DEEPEST:
        return rng.choice(_STRINGS)
    if schema.name.endswith(".Quantity"):
        return rng.choice(_STRINGS if rng.random() < wrong else _QUANTITIES)
    if schema.format in _READABLE and rng.random() >= wrong:
        return rng.choice(_READABLE[schema.format])
    if schema.int_or_string or schema.scalar == "untyped":
        return rng.choice([rng.choice(_STRINGS), rng.choice(_PERCENTS), rng.choice(_NUMBERS)])
    if schema.is_map:
        return _map(schema, rng, depth, wrong)
    if schema.is_list:
        made = [_value(schema.items, rng, depth + 1, wrong) for _ in range(rng.choice([0, 1, 1, 2]))]
        return made + made[:1] if rng.random() < 0.1 else made  # a duplicate
    if schema.scalar == "boolean":
        return rng.random() < 0.5
    if schema.scalar == "numeric":
        most = 2 ** (31 if schema.format == "int32" else 63)
        fits = [each for each in _NUMBERS if isinstance(each, int) and -most <= each < most]
        return rng.choice(_NUMBERS if rng.random() < wrong else fits)
    enum = schema.source.get("enum")
    return rng.choice(enum) if enum and rng.random() < 0.8 else rng.choice(_STRINGS)


def _map(schema: Schema, rng: random.Random, depth: int, wrong: float) -> dict[str, Any]:
    if not schema.known:
        names = rng.sample(_STRINGS, rng.choice([0, 1, 1, 2]))
        return {name: _value(schema.element, rng, depth + 1, wrong) for name in names}
    needed = set(schema.source.get("required") or ())
    # Deep objects have few fields, so that the size stays bounded.
    share = rng.choice([0.1, 0.3, 0.9]) / (1 + depth / 2)
    return {
        name: _value(schema.fields[name], rng, depth + 1, wrong)
        for name in schema.known
        if name in ("spec", "template", "metadata") or rng.random() < (0.9 if name in needed else share)
    }
