"""Finds the field of an object that does not fit its model, and what the model expects there.

The message is built from the path and the types, so it cannot contain the value, which may be a secret; msgspec's own
message quotes some values. The field is found by decoding the parts of the object one by one, after decoding the whole
object has failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import msgspec

from kubewright.api._model import fields_of
from kubewright.api._pydantic import decode_pydantic, is_pydantic
from kubewright.api._quantity import EXPECTED, Quantity
from kubewright.api._repair import without_none
from kubewright.api._spec_status import Resource, requires_spec
from kubewright.api._time import MicroTime
from kubewright.api._values import dec_hook

__all__ = ["find_mismatch"]

_JSON_TYPES: Final[dict[type, str]] = {
    type(None): "null", bool: "bool", int: "int", float: "float", str: "str", list: "array", dict: "object",
}  # fmt: skip


def find_mismatch(type_: Any, content: Any) -> tuple[str, str]:
    """Returns the path of the first value that does not fit, and the problem."""
    path = ""
    while True:
        for step, inner, value in _parts(type_, content):
            if not _fits(inner, value):
                path, type_, content = path + step, inner, value
                break
        else:
            return path.removeprefix("."), _problem(type_, content)


def _fits(type_: Any, content: Any) -> bool:
    try:
        msgspec.json.decode(msgspec.json.encode(content), type=type_, dec_hook=dec_hook)
    except (msgspec.DecodeError, TypeError, ValueError):
        return False
    return True


def _parts(type_: Any, content: Any) -> Iterator[tuple[str, Any, Any]]:
    plain, _ = without_none(type_)
    if isinstance(content, dict) and isinstance(plain, type) and issubclass(plain, msgspec.Struct):
        for field in fields_of(plain):
            if field.encode_name in content:
                yield f".{field.encode_name}", field.type, content[field.encode_name]
    elif isinstance(content, dict) and get_origin(plain) is dict:
        yield from (("[...]", get_args(plain)[1], value) for value in content.values())
    elif isinstance(content, list) and get_origin(plain) is list:
        yield from ((f"[{index}]", get_args(plain)[0], value) for index, value in enumerate(content))


def _problem(type_: Any, content: Any) -> str:
    plain, optional = without_none(type_)
    if is_pydantic(plain) and isinstance(content, dict):
        try:
            decode_pydantic(plain, content)
        except ValueError as error:  # pydantic's message, without the input
            return str(error)
    expected = _expected(plain)
    found = _JSON_TYPES[type(content)]
    if expected and found not in expected and not (found == "int" and "float" in expected):
        names = " | ".join([*expected, *(["null"] if optional else [])])
        return f"expected `{names}`, got `{found}`"
    if isinstance(plain, type) and issubclass(plain, msgspec.Struct):
        for field in fields_of(plain):
            if field.required and field.encode_name not in content:
                return f"missing required field `{field.encode_name}`"
        if issubclass(plain, Resource) and "spec" not in content and requires_spec(plain):
            return "missing required field `spec`"
        return f"the object does not fit {plain.__name__}"
    if get_origin(plain) is Literal or (isinstance(plain, type) and issubclass(plain, Enum)):
        return "not one of the values that the model allows"
    return f"the value is not {_described(plain)}"


def _described(plain: Any) -> str:
    if plain is Quantity:
        return EXPECTED
    if plain in (datetime, MicroTime):
        return "an RFC 3339 time such as 2030-01-31T12:00:00Z"
    return "base64" if plain is bytes else f"in the range of {getattr(plain, '__name__', 'its type')}"


def _expected(type_: Any) -> tuple[str, ...]:
    """Returns the JSON types that a type is decoded from; none for an unknown type."""
    plain, _ = without_none(type_)
    origin, arguments = get_origin(plain), get_args(plain)
    if origin is Annotated:
        return _expected(arguments[0])
    if origin is Literal:
        return tuple(dict.fromkeys(_JSON_TYPES[type(value)] for value in arguments))
    if origin in (list, dict):
        return (_JSON_TYPES[origin],)
    if arguments:  # a union
        return tuple(dict.fromkeys(name for argument in arguments for name in _expected(argument)))
    if plain in _JSON_TYPES:
        return (_JSON_TYPES[plain],)
    if plain in (datetime, MicroTime, bytes):
        return ("str",)
    if plain is Quantity:
        return ("str", "int", "float")
    if isinstance(plain, type) and issubclass(plain, Enum):
        return ("str",)
    return ("object",) if isinstance(plain, type) and (issubclass(plain, msgspec.Struct) or is_pydantic(plain)) else ()
