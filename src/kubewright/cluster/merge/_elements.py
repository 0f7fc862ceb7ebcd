"""Path elements of fields, as managedFields write them.

An element is a string: `f:spec` is a field, `k:{"name":"nginx"}` the list element with that key, `v:"a"` the set
element with that value, `i:0` the element at that index. Equal elements have equal strings, as Go writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from json.encoder import encode_basestring as _quoted
from typing import Any

import msgspec

from kubewright.api.wire import canonical_json
from kubewright.cluster.merge._go import shown
from kubewright.cluster.schema import Schema

__all__ = ["ElementError", "element_of", "format_step", "key_step", "normal_step", "sort_key", "value_step"]

_decode = msgspec.json.Decoder().decode
_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


class ElementError(ValueError):
    """A list element that cannot be identified."""


def element_of(schema: Schema, item: Any) -> str:
    """Returns the path element of an item of a set or a map list. Raises ElementError."""
    keys = schema.keys
    if keys:
        if type(item) is not dict:
            if item is None:
                raise ElementError("associative list with keys may not have a null element")
            raise ElementError("associative list with keys may not have non-map elements")
        if len(keys) == 1 and type(name := item.get(keys[0])) is str:
            return f'k:{{"{keys[0]}":{_text(name)}}}'
        return _keyed(schema, item)
    kind = type(item)
    if kind is str:
        return "v:" + _text(item)
    if kind is dict:
        raise ElementError("associative list without keys has an element that's a map type")
    if kind is list:
        raise ElementError("not supported: associative list with lists as elements")
    if item is None:
        raise ElementError("associative list without keys has an element that's an explicit null")
    return value_step(item)


def _keyed(schema: Schema, item: Mapping[str, Any]) -> str:
    parts = []
    for key in schema.keys:
        if key in item:
            parts.append(f'"{key}":{_scalar(item[key])}')
        elif key in schema.key_defaults:
            parts.append(f'"{key}":{_scalar(schema.key_defaults[key])}')
    if not parts:
        names = " ".join(_quoted(key) for key in schema.source.get("x-kubernetes-list-map-keys", schema.keys))
        raise ElementError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return "k:{" + ",".join(parts) + "}"


def key_step(keys: Mapping[str, Any]) -> str:
    """Returns the path element of the item with these keys."""
    return "k:{" + ",".join(f"{_text(name)}:{_scalar(value)}" for name, value in sorted(keys.items())) + "}"


def value_step(value: Any) -> str:
    """Returns the path element of the set item with this value."""
    return "v:" + _scalar(value)


def _scalar(value: Any) -> str:
    if type(value) is str:
        return _text(value)
    if type(value) is int:
        return str(value)
    if type(value) is float and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return canonical_json(value).decode().translate(_HTML)


def _text(value: str) -> str:
    quoted = _quoted(value)
    if quoted.isascii() and "<" not in quoted and ">" not in quoted and "&" not in quoted:
        return quoted
    return quoted.translate(_HTML)


def normal_step(step: str) -> str | None:
    """Returns the canonical string of a path element; None for an unknown prefix. Raises ValueError."""
    return _known_normal(step) if len(step) < _MAX_CACHED_LENGTH else _normal(step)


def _normal(step: str) -> str | None:
    if len(step) < 2:
        raise ValueError("key must be 2 characters long:")
    if step[1] != ":":
        raise ValueError(f"missing colon: {step}")
    letter, content = step[0], step[2:]
    if letter == "f":
        return step
    if letter == "k":
        keys = _decode(content)
        if not isinstance(keys, dict):
            raise ValueError(f"expected an object: {step}")
        return key_step(keys)
    if letter == "v":
        return value_step(_decode(content))
    if letter == "i":
        return f"i:{int(content)}"
    return None


def sort_key(step: str) -> tuple[Any, ...]:
    """Returns the key that sorts path elements in the server's order; `.` comes first."""
    return _known_sort_key(step) if len(step) < _MAX_CACHED_LENGTH else _sort_key(step)


def _sort_key(step: str) -> tuple[Any, ...]:
    letter, content = step[0], step[2:]
    if letter == "f":
        return (1, content)
    if letter == "k":
        return (2, *((name, *_order(value)) for name, value in sorted(_decode(content).items())))
    if letter == "v":
        return (3, *_order(_decode(content)))
    return (4, int(content)) if letter == "i" else (0,)


_MAX_CACHED_LENGTH = 200  # longer elements are client input and not cached
_known_normal = lru_cache(maxsize=4096)(_normal)
_known_sort_key = lru_cache(maxsize=4096)(_sort_key)


def _order(value: Any) -> tuple[int, Any]:
    """Returns the sort key of a value: numbers, strings, booleans, then everything else."""
    if type(value) in (int, float):
        return (0, value)
    if type(value) is str:
        return (1, value)
    if type(value) is bool:
        return (2, value)
    return (3, msgspec.json.encode(value).decode())


def format_step(step: str) -> str:
    """Returns a path element as in error messages: `.spec`, `[name="nginx"]`, `[="a"]`."""
    letter, content = step[0], step[2:]
    if letter == "f":
        return "." + content
    if letter == "k":
        keys = _decode(content)
        return "[" + ",".join(f"{name}={shown(value)}" for name, value in sorted(keys.items())) + "]"
    return f"[={shown(_decode(content))}]" if letter == "v" else f"[{content}]"
