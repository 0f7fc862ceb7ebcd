"""Decodes objects the way Go does: into structs and back to JSON.

kube-apiserver decodes the bodies of built-in kinds into Go structs. This changes an object: unknown fields and nulls
disappear, empty values are omitted or filled in according to the struct's tags, quantities and times get their
canonical form, and a value of the wrong type is an error with Go's message. `reader_of` returns a function that does
the same to JSON. It is compiled on first use from recorded facts about the structs (`data/types.json`).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

import msgspec

from kubewright.api import Quantity, format_micro_time, format_time, parse_time
from kubewright.cluster.data import read_data
from kubewright.cluster.machinery._resources import JSONObject, ReadProblem, UnreadableObject

__all__ = ["Reader", "go_type_of", "read_metadata", "reader_of"]

Problems: TypeAlias = "list[ReadProblem] | None"
Reader: TypeAlias = Callable[[Any, str, Problems], Any]
"""Decodes the value at a path, and records the fields that it drops. Raises `UnreadableObject`."""

_INTEGERS: Final = {
    "int": 63, "int32": 31, "int64": 63, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64, "int8": 7, "int16": 15
}  # fmt: skip
_DECIMALS: Final = re.compile(r"\.(\d+)")
_ALIASES: Final = {"time": "v1.Time", "microTime": "v1.MicroTime", "duration": "v1.Duration"}


class _Where(Exception):
    """A value of the wrong type, raised before the surrounding struct and field are known."""

    def __init__(self, found: str, wanted: str) -> None:
        super().__init__(found, wanted)
        self.found = found
        self.wanted = wanted


def go_type_of(api_version: str, kind: str) -> str | None:
    """Returns the name of the struct of a built-in kind: `apps/v1.Deployment`."""
    name = f"{_package(api_version)}.{kind}"
    return name if name in _structs() else None


@cache
def reader_of(struct: str) -> Reader:
    """Returns the reader of a struct."""
    return _struct_reader(struct)


def read_metadata(metadata: Any, problems: Problems = None) -> JSONObject:
    """Decodes the metadata of an object of any kind, custom resources included."""
    read: JSONObject = reader_of("meta/v1.ObjectMeta")(metadata if metadata is not None else {}, "metadata", problems)
    return read


def _package(api_version: str) -> str:
    group, _, version = api_version.rpartition("/")
    return f"{group.split('.')[0] or 'core'}/{version}"


@cache
def _structs() -> dict[str, list[tuple[str, str, str, str]]]:
    return msgspec.json.decode(read_data("types.json"), type=dict[str, list[tuple[str, str, str, str]]])


class _Field:
    """The reader of one field, when it is omitted, and its value when it is absent."""

    __slots__ = ("default", "drop", "read")

    def __init__(self, read: Reader, *, drop: bool, default: Callable[[], Any] | None) -> None:
        self.read = read
        self.drop = drop  # whether an empty value is omitted
        self.default = default  # makes the value of an absent field; None: the field stays absent


def _struct_reader(struct: str) -> Reader:
    fields: dict[str, _Field] = {}
    always: list[tuple[str, Callable[[], Any]]] = []
    short = struct.rpartition(".")[2]

    def compile_fields() -> None:
        for name, type_, flags, _ in _structs()[struct]:
            made = _field(type_, flags)
            fields[name] = made
            if made.default is not None:
                always.append((name, made.default))

    def read(value: Any, path: str, problems: Problems) -> Any:
        if not fields:
            compile_fields()  # on first use: structs can be recursive
        if type(value) is not dict:
            raise _Where(_json_name(value), _shown(struct))
        made: JSONObject = {}
        for name, given in value.items():
            field = fields.get(name)
            if field is None:
                if problems is not None:
                    problems.append(
                        ReadProblem(f'unknown field "{path}.{name}"' if path else f'unknown field "{name}"')
                    )
                continue
            if given is None:
                continue
            try:
                read_value = field.read(given, f"{path}.{name}" if path else name, problems)
            except _Where as error:
                at = f"{path}.{name}" if path else name
                raise _unreadable(error, short, at) from None
            if field.drop and not read_value and read_value is not None:
                continue
            made[name] = read_value
        for name, default in always:
            if made.get(name) is None:
                made[name] = default()
        return made

    return read


def _unreadable(error: _Where, struct: str, path: str) -> UnreadableObject:
    bare = "".join(part.partition("]")[2] if index else part for index, part in enumerate(path.split("[")))
    if not error.wanted:  # types with their own decoder name the wanted type themselves
        return UnreadableObject(error.found)
    return UnreadableObject(
        f"json: cannot unmarshal {error.found} into Go struct field {struct}.{bare} of type {error.wanted}"
    )


def _field(type_: str, flags: str) -> _Field:
    read = _reader(type_)
    omit_empty, omit_zero = "e" in flags, "z" in flags
    if type_.startswith("*") or type_ in ("any", "raw"):
        return _Field(read, drop=False, default=None if omit_empty else _null)
    if type_.startswith(("[]", "map:")) or type_ == "bytes":
        return _Field(read, drop=True, default=None if omit_empty else _null)
    if type_ in _ZEROS:
        zero = _ZEROS[type_]
        return _Field(read, drop=omit_empty and type_ not in _OBJECTS, default=None if omit_empty else lambda: zero)
    if type_ in _OBJECTS:
        return _Field(read, drop=False, default=None if omit_zero else _OBJECTS[type_])
    # A struct is written even if it is empty, unless its tag says omitzero.
    return _Field(read, drop=omit_zero, default=None if omit_zero else lambda: read({}, "", None))


def _null() -> Any:
    return None


_ZEROS: Final[dict[str, Any]] = {"string": "", "bool": False, "float64": 0, "float32": 0} | dict.fromkeys(_INTEGERS, 0)
# Types with their own encoder: their empty values.
_OBJECTS: Final[dict[str, Callable[[], Any]]] = {
    "time": _null,
    "microTime": _null,
    "duration": lambda: "0s",
    "quantity": lambda: "0",
    "intOrString": lambda: 0,
}


def _reader(type_: str) -> Reader:
    if type_.startswith("*"):
        return _reader(type_[1:])
    if type_.startswith("[]"):
        return _list_reader(type_)
    if type_.startswith("map:"):
        return _map_reader(type_)
    if type_ in _INTEGERS:
        return _integer_reader(type_)
    return _SCALARS[type_] if type_ in _SCALARS else reader_of(type_)


def _list_reader(type_: str) -> Reader:
    read_item, wanted = _reader(type_[2:]), _shown(type_)
    empty = _empty(type_[2:], read_item)

    def read(value: Any, path: str, problems: Problems) -> Any:
        if type(value) is not list:
            raise _Where(_json_name(value), wanted)
        return [
            (empty() if item is None else read_item(item, f"{path}[{index}]", problems))
            for index, item in enumerate(value)
        ]

    return read


def _empty(type_: str, read: Reader) -> Callable[[], Any]:
    """Returns the value that Go decodes a null in a list or map to: the zero value of the type."""
    if type_ in _ZEROS:
        return lambda: _ZEROS[type_]
    if type_ in _OBJECTS:
        return _OBJECTS[type_]
    plain = type_.startswith(("*", "[]", "map:")) or type_ in ("any", "raw", "bytes")
    return _null if plain else lambda: read({}, "", None)


def _map_reader(type_: str) -> Reader:
    read_item, wanted = _reader(type_[4:]), _shown(type_)
    plain = type_ == "map:string"
    empty = _empty(type_[4:], read_item)

    def read(value: Any, path: str, problems: Problems) -> Any:
        if type(value) is not dict:
            raise _Where(_json_name(value), wanted)
        if plain and all(type(item) is str for item in value.values()):
            return value
        return {
            name: (empty() if item is None else read_item(item, f"{path}.{name}", problems))
            for name, item in value.items()
        }

    return read


def _integer_reader(type_: str) -> Reader:
    bits = _INTEGERS[type_]
    low, high = (0, 2**bits - 1) if type_.startswith("u") else (-(2**bits), 2**bits - 1)

    def read(value: Any, path: str, problems: Problems) -> Any:
        if type(value) is int and low <= value <= high:
            return value
        if type(value) is float and value.is_integer() and low <= value <= high:
            return int(value)
        raise _Where(_json_name(value), type_)

    return read


def _string(value: Any, path: str, problems: Problems) -> Any:
    if type(value) is not str:
        raise _Where(_json_name(value), "string")
    return value


def _bool(value: Any, path: str, problems: Problems) -> Any:
    if type(value) is not bool:
        raise _Where(_json_name(value), "bool")
    return value


def _number(value: Any, path: str, problems: Problems) -> Any:
    if type(value) not in (int, float):
        raise _Where(_json_name(value), "float64")
    return value


def _bytes(value: Any, path: str, problems: Problems) -> Any:
    if type(value) is not str:
        raise _Where(_json_name(value), "[]uint8")
    try:
        base64.b64decode(value, validate=True)
    except ValueError:  # also characters outside of ASCII
        raise _Where(f"illegal base64 data at input byte {_bad_byte(value)}", "") from None
    return value


def _bad_byte(text: str) -> int:
    """Returns the position at which Go's decoder fails."""
    alphabet = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    for index, character in enumerate(text):
        if character not in alphabet:
            return index
    return len(text) - len(text) % 4


def _time(value: Any, path: str, problems: Problems) -> Any:
    return format_time(_parsed_time(value, "2006-01-02T15:04:05Z07:00"))


def _micro_time(value: Any, path: str, problems: Problems) -> Any:
    layout = "2006-01-02T15:04:05.000000Z07:00"
    moment = _parsed_time(value, layout)
    decimals = _DECIMALS.search(value)
    if decimals is None or len(decimals[1]) != 6:  # Go requires exactly as many decimals as the layout has
        rest = value[decimals.start() :] if decimals is not None else value[19:]
        raise _Where(f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as ".000000"', "")
    return format_micro_time(moment)


def _parsed_time(value: Any, layout: str) -> Any:
    if type(value) is not str:
        raise _Where(f"json: cannot unmarshal {_json_name(value)} into Go value of type string", "")
    try:
        return parse_time(value)
    except ValueError:
        quoted = msgspec.json.encode(value).decode()
        raise _Where(f'parsing time {quoted} as "{layout}": cannot parse {quoted} as "2006"', "") from None


def _quantity(value: Any, path: str, problems: Problems) -> Any:
    if type(value) is int or type(value) is float:
        value = msgspec.json.encode(value).decode()
    if type(value) is not str:
        raise _Where(f"json: cannot unmarshal {_json_name(value)} into Go value of type string", "")
    try:
        return Quantity(value).canonical()
    except ValueError:
        rule = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        raise _Where(rule, "") from None


def _int_or_string(value: Any, path: str, problems: Problems) -> Any:
    if type(value) is str or (type(value) is int and -(2**31) <= value < 2**31):
        return value
    raise _Where(f"json: cannot unmarshal {_json_name(value)} into Go value of type int32", "")


def _anything(value: Any, path: str, problems: Problems) -> Any:
    return value


_SCALARS: Final[dict[str, Reader]] = {
    "string": _string,
    "bool": _bool,
    "float64": _number,
    "float32": _number,
    "bytes": _bytes,
    "time": _time,
    "microTime": _micro_time,
    "duration": _string,
    "quantity": _quantity,
    "intOrString": _int_or_string,
    "raw": _anything,
    "any": _anything,
}


def _json_name(value: Any) -> str:
    """Returns the name that Go's decoder uses for a JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int):
        return f"number {value}" if abs(value) > 2**31 else "number"
    if isinstance(value, float):
        return f"number {msgspec.json.encode(value).decode()}"
    return "array" if isinstance(value, list) else "object"


def _shown(type_: str) -> str:
    """Returns a type as Go's messages show it: the last part of the package, and the name."""
    if type_.startswith("*"):
        return _shown(type_[1:])
    if type_.startswith("[]"):
        return "[]" + _shown(type_[2:])
    if type_.startswith("map:"):
        return "map[string]" + _shown(type_[4:])
    return _ALIASES.get(type_, type_.rpartition("/")[2])
