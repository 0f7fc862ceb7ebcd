"""Changes of a spec, drawn from its schema: one field at a time."""

from __future__ import annotations

import base64
import copy
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kubewright.explore.model import MISSING_IMAGE

__all__ = ["Change", "changed", "changes_of", "missing_images_of"]

_MAX_DEPTH: Final = 6
_MAX_CHANGES: Final = 40
_MAX_INTEGER: Final = 12
"""The largest number of anything that a change asks for, so that no run makes a thousand pods."""
_ABSENT: Final = object()
_SMALLER: Final = {"Ti": (1024, "Gi"), "Gi": (1024, "Mi"), "Mi": (1024, "Ki"), "G": (1000, "M"), "M": (1000, "k")}
"""The next smaller unit of a quantity, and how many there are of it."""


_WORD: Final = 60
_STRUCTURE: Final = frozenset("\n{}[]<>=;")
"""Characters of values with a format, such as JSON, that a suffix would break."""
_FLIPPED: Final = {"true": "false", "false": "true", "yes": "no", "no": "yes", "on": "off", "off": "on"}


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """A new value for a field, or its removal."""

    path: tuple[str | int, ...]
    value: Any = None
    remove: bool = False
    before: Any = None
    existed: bool = True
    same: bool = False
    """Whether it is another spelling of the same quantity."""
    odd: bool = False
    """Whether it is an empty string where one is needed. Operators need not be able to use it."""

    @property
    def title(self) -> str:
        """The description of the change."""
        field = ".".join(str(part) for part in self.path)
        return f"remove {field}" if self.remove else f"set {field} to {self.value!r}"

    @property
    def is_plain(self) -> bool:
        """Whether no program has a reason to reject the value: a number, or the same quantity in another spelling."""
        return self.same or (isinstance(self.value, int | float) and not isinstance(self.value, bool))

    def back(self) -> Change:
        """Returns the change that reverts this one."""
        if not self.existed:
            return Change(self.path, remove=True, before=self.value)
        return Change(self.path, self.before, before=None if self.remove else self.value, existed=not self.remove)


def changed(obj: dict[str, Any], change: Change) -> dict[str, Any]:
    """Returns a copy of an object with the change."""
    result = copy.deepcopy(obj)
    at: Any = result
    part: Any
    for part in change.path[:-1]:
        at = at[part] if isinstance(at, list) else at.setdefault(part, {})
    last: Any = change.path[-1]
    if not change.remove:
        at[last] = change.value
    elif isinstance(at, list):
        del at[last]
    else:
        at.pop(last, None)
    return result


def changes_of(obj: dict[str, Any], schema: dict[str, Any]) -> list[Change]:
    """Returns changes of the spec, the most likely to matter first: each field once, then further values."""
    spec = schema.get("properties", {}).get("spec", {})
    drawn = list(_changes(("spec",), obj.get("spec", {}), spec, required=True, depth=0))
    first: list[Change] = []
    rest: list[Change] = []
    seen: set[tuple[str | int, ...]] = set()
    for change in drawn:
        (rest if change.path in seen else first).append(change)
        seen.add(change.path)
    return (first + rest)[:_MAX_CHANGES]


def missing_images_of(value: Any, path: tuple[str | int, ...] = ("spec",)) -> Iterator[Change]:
    """Yields a change to an image that no node can pull, for each image in a spec: a string named `image`."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in members:
        if isinstance(inner, str) and inner and str(name).lower().endswith("image"):
            yield Change((*path, name), MISSING_IMAGE, before=inner)
        elif len(path) < _MAX_DEPTH:
            yield from missing_images_of(inner, (*path, name))


def stored(obj: dict[str, Any]) -> dict[str, Any]:
    """Returns a ConfigMap or Secret as the server stores it: without `stringData`."""
    plain = {name: value for name, value in obj.items() if name != "stringData"}
    encoded = {name: _encoded(str(value)) for name, value in (obj.get("stringData") or {}).items()}
    return {**plain, "data": {**(obj.get("data") or {}), **encoded}}


def entries_of(obj: dict[str, Any]) -> Iterator[Change]:
    """Yields a change of each entry of a ConfigMap or Secret that is a short word, number or quantity."""
    secret = obj["kind"] == "Secret"
    for name, value in stored(obj)["data"].items():
        text = _decoded(value) if secret else value
        if text is None or not text.strip() or len(text) > _WORD or set(text) & _STRUCTURE:
            continue
        other = _FLIPPED.get(text) or next(iter(_strings({}, text)))
        yield Change(("data", name), _encoded(other) if secret else other, before=value)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decoded(value: str) -> str | None:
    try:
        return base64.b64decode(value, validate=True).decode()
    except ValueError:
        return None


def _changes(
    path: tuple[str | int, ...], value: Any, schema: dict[str, Any], *, required: bool, depth: int
) -> Iterator[Change]:
    if depth > _MAX_DEPTH or not isinstance(schema, dict):
        return
    absent = value is _ABSENT
    before = None if absent else value
    if depth:
        for new in _values(schema, value):
            if absent or new != value or type(new) is not type(value):
                yield Change(path, new, before=before, existed=not absent, odd=required and new == "")
        if isinstance(value, str) and (spelled := _spelled(value, schema)) is not None:
            yield Change(path, spelled, before=before, same=True)
        if not required and not absent and isinstance(path[-1], str):
            yield Change(path, remove=True, before=before)
    properties = schema.get("properties")
    if isinstance(properties, dict) and not absent and isinstance(value, dict):
        needed = schema.get("required", [])
        for name, inner in properties.items():
            held = value.get(name, _ABSENT)
            yield from _changes((*path, name), held, inner, required=name in needed, depth=depth + 1)
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict) and isinstance(value, dict):
        for name in list(value)[:2]:
            yield from _changes((*path, name), value[name], extra, required=False, depth=depth + 1)
    items = schema.get("items")
    if isinstance(items, dict) and isinstance(value, list):
        for index, item in enumerate(value[:2]):
            yield from _changes((*path, index), item, items, required=True, depth=depth + 1)


def _values(schema: dict[str, Any], value: Any) -> Iterator[Any]:
    """Yields other values for a field."""
    present = value is not _ABSENT
    if "enum" in schema:
        yield from (each for each in schema["enum"] if each is not None)
        return
    if schema.get("x-kubernetes-int-or-string"):
        yield (_varied_quantity(value) if isinstance(value, str) else None) or 2
        return
    match schema.get("type"):
        case "boolean":
            yield not value if present else True
        case "integer" | "number":
            yield from _numbers(schema, value if present else None)
        case "string":
            yield from _strings(schema, value if present else None)
        case "array":
            yield from _lists(schema, value if present else None)
        case "object":
            yield from _objects(schema, value if present else None)


def _numbers(schema: dict[str, Any], value: Any) -> Iterator[Any]:
    low = schema.get("minimum", 0)
    high = schema.get("maximum", _MAX_INTEGER)
    step = schema.get("multipleOf", 1)
    if isinstance(value, int | float):
        if value + step <= schema.get("maximum", value + step):
            yield value + step
        if value - step >= low:
            yield value - step
    else:
        yield max(low, min(2, high))
    if value is None or abs(low - value) <= _MAX_INTEGER:
        yield low
    half = (value or low) + 0.5
    if schema.get("type") == "number" and step == 1 and half <= schema.get("maximum", half):
        yield half
    if high <= _MAX_INTEGER and "maximum" in schema:
        yield high


def _strings(schema: dict[str, Any], value: str | None) -> Iterator[str]:
    longest = schema.get("maxLength", 63)
    kind = schema.get("format", "")
    if kind in ("date-time", "byte", "date", "ipv4", "ipv6", "uri", "uuid"):
        return
    base = value if value else "explored"
    if value and (varied := _varied_quantity(value)):
        yield varied
        return
    if not value:
        yield base[:longest]
    elif len(base) + 2 <= longest:
        yield f"{base}-2" if base[-1].isalnum() else f"{base}2"
    if schema.get("minLength", 0) == 0 and value and not schema.get("pattern"):
        yield ""


def _varied_quantity(value: str) -> str | None:
    """Returns another quantity, duration or number for a string that is one: "1Gi" becomes "2Gi"."""
    digits = len(value) - len(value.lstrip("0123456789"))
    unit = value[digits:]
    if digits and len(unit) <= 2 and unit.isalpha() | (unit == ""):
        return f"{int(value[:digits]) + 1}{unit}"
    return None


def _spelled(value: str, schema: dict[str, Any]) -> str | None:
    """Returns another spelling of a quantity: "64Mi" becomes "65536Ki". None for other strings, and for a pattern."""
    if not schema.get("x-kubernetes-int-or-string") and ("pattern" in schema or "format" in schema):
        return None
    digits = value[: len(value) - len(value.lstrip("0123456789"))]
    smaller = _SMALLER.get(value[len(digits) :])
    return None if not digits or smaller is None else f"{int(digits) * smaller[0]}{smaller[1]}"


def _lists(schema: dict[str, Any], value: list[Any] | None) -> Iterator[list[Any]]:
    items = schema.get("items", {})
    if value:
        if len(value) > schema.get("minItems", 0):
            yield value[:-1]
            if len(value) > 1 and schema.get("minItems", 0) == 0:
                yield []
        if (more := _different_item(items, value[-1])) is not None:
            yield [*value, more]
    elif (one := _example(items)) is not None:
        yield [one]


def _objects(schema: dict[str, Any], value: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        one = _example(extra)
        if one is not None:
            yield {**(value or {}), "explored": one}
        if value:
            last = list(value)[-1]
            yield {name: held for name, held in value.items() if name != last}
    elif value is None and (made := _example(schema)) is not None:
        yield made


def _different_item(schema: dict[str, Any], like: Any) -> Any:
    """Returns an item like another one, but with other strings and numbers."""
    if isinstance(like, str):
        return next(iter(each for each in _values(schema, like) if each and each != like), None)
    if isinstance(like, int) and not isinstance(like, bool):
        return next(iter(_values(schema, like)), None)
    if isinstance(like, dict):
        properties = schema.get("properties", {})
        return {
            name: (_different_item(properties.get(name, {}), held) or held)
            if isinstance(held, str | int) and "enum" not in properties.get(name, {})
            else held
            for name, held in like.items()
        }
    return None


def _example(schema: dict[str, Any]) -> Any:
    """Returns a small valid value; None if there is none that is easy to find."""
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    match schema.get("type"):
        case "boolean":
            return True
        case "integer" | "number":
            return max(schema.get("minimum", 1), 1)
        case "string":
            return None if schema.get("pattern") or schema.get("format") else "explored"
        case "object":
            properties, made = schema.get("properties", {}), {}
            for name in schema.get("required", []):
                one = _example(properties.get(name, {}))
                if one is None:
                    return None
                made[name] = one
            return made
    return None
