"""Validation of a custom resource against its schema, with the messages of the real server.

`errors_of(schema, value)` returns the `FieldError`s of the server for every OpenAPI validation of a structural schema.
CEL rules and the uniqueness of list elements are checked elsewhere. With `old`, unchanged values are not validated (the
server calls this ratcheting): an object that violates a newer rule can still be changed elsewhere. List elements are
compared only if keys identify them.

Members are checked in the order of the schema and the object; the real server's order is random.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from kubewright.api.schema import fits_format, is_format
from kubewright.api.wire import equal_json, json_type
from kubewright.cluster.machinery._field_errors import (
    FieldError,
    go_number,
    invalid,
    not_supported,
    required,
    shown,
    too_long,
    too_many,
    type_invalid,
)
from kubewright.regex import text_matches

__all__ = ["errors_of"]

_ABSENT: Final = object()
_ROOT: Final = "<nil>"  # the server's name for the root field
_INT32: Final = 2**31
_INT64: Final = 2**63
_GO_FORMATS: Final = {"integer": "int64", "number": "float64"}


def errors_of(schema: dict[str, Any], value: Any, path: str = "", *, old: Any = _ABSENT) -> list[FieldError]:
    """Returns the violations of the schema. `path` names the value in the errors."""
    return _check(schema, value, path, old).errors


@dataclass(slots=True)
class _Result:
    """The errors found, and how much matched: of several alternatives, the server reports the one that matches best."""

    errors: list[FieldError] = field(default_factory=list)
    fitting: int = 0

    def add(self, *errors: FieldError) -> None:
        """Adds each message once."""
        for error in errors:
            if error not in self.errors:
                self.errors.append(error)

    def merge(self, other: _Result) -> None:
        self.add(*other.errors)
        self.fitting += other.fitting


def _check(schema: dict[str, Any], value: Any, path: str, old: Any = _ABSENT) -> _Result:
    result = _Result()
    if old is not _ABSENT and equal_json(value, old):
        return result
    if value is None:
        result.merge(_check_type(schema, value, path))
        result.add(*_check_enum(schema, value, path))
        return result
    if _types(schema) or _format(schema):
        result.merge(_check_type(schema, value, path))
        result.fitting += 1
    result.merge(_check_alternatives(schema, value, path))
    result.fitting += 1
    match value:
        case str():
            result.add(*_check_text(schema, value, path))
            result.fitting += 1
        case bool():
            pass
        case int() | float():
            result.add(*_check_number(schema, value, path))
            result.fitting += 2
        case list():
            result.merge(_check_list(schema, value, path, old))
            result.fitting += 1
    result.add(*_check_enum(schema, value, path))
    result.fitting += 1
    if isinstance(value, dict):
        result.merge(_check_object(schema, value, path, old))
        result.fitting += 1
    result.fitting += 1
    return result


# One value


def _types(schema: dict[str, Any]) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def _check_type(schema: dict[str, Any], value: Any, path: str) -> _Result:
    expected, actual = _types(schema), json_type(value)
    if value is None:
        if expected and not schema.get("nullable"):
            return _Result([_wrong_type(path, ",".join(expected), "null")])
        return _Result(fitting=1)
    whole = actual == "number" and float(value).is_integer() and "integer" in expected
    fits = actual in expected or whole or (actual == "integer" and "number" in expected)
    if (format_ := _format(schema)) and not ("number" in expected or "integer" in expected):
        if isinstance(value, str | list):
            return _Result(fitting=1)  # the format check decides
        if not fits:
            return _Result([_wrong_type(path, format_, _GO_FORMATS.get(actual, ""))])
    return _Result(fitting=1) if fits else _Result([_wrong_type(path, ",".join(expected), actual)])


def _format(schema: dict[str, Any]) -> str:
    """Returns the format if the server knows it; the server ignores unknown formats."""
    format_: str = schema.get("format") or ""
    return format_ if is_format(format_) else ""


def _wrong_type(path: str, expected: str, actual: str) -> FieldError:
    return type_invalid(_named(path), actual, f'{path} in body must be of type {expected}: "{actual}"')


def _check_enum(schema: dict[str, Any], value: Any, path: str) -> Iterator[FieldError]:
    choices = schema.get("enum")
    if choices and not any(equal_json(value, choice) for choice in choices):
        yield not_supported(
            _named(path), value, [choice if isinstance(choice, str) else shown(choice) for choice in choices]
        )


def _check_text(schema: dict[str, Any], value: str, path: str) -> Iterator[FieldError]:
    yield from _first(_text_rules(schema, value, path))
    if (format_ := _format(schema)) and not fits_format(format_, value):
        yield type_invalid(_named(path), value, f"{path} in body must be of type {format_}: {shown(value)}")


def _text_rules(schema: dict[str, Any], value: str, path: str) -> Iterator[FieldError]:
    length = len(value)
    if length > schema.get("maxLength", math.inf):
        yield too_long(_named(path), schema["maxLength"])
    if length < schema.get("minLength", 0):
        yield invalid(_named(path), value, f"{path} in body should be at least {schema['minLength']} chars long")
    pattern = schema.get("pattern")
    if pattern and not text_matches(pattern, value):
        yield invalid(_named(path), value, f"{path} in body should match '{pattern}'")


def _check_number(schema: dict[str, Any], value: float, path: str) -> Iterator[FieldError]:
    say: Callable[[str], FieldError] = partial(_number_error, path, value)
    if schema.get("type") == "integer":
        format_ = schema.get("format")
        bound = _INT32 if format_ == "int32" else _INT64
        if not float(value).is_integer() or not -bound <= value < bound:
            how = f"with format {format_}" if format_ in ("int32", "int64") else "(default format)"
            yield invalid(_ROOT, "", f"Checked value must be of type integer {how} in {path}")
    factor = schema.get("multipleOf")
    if factor and not _is_multiple(value, factor):
        yield say(f"a multiple of {go_number(factor)}")
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None:
        if schema.get("exclusiveMinimum"):
            if value <= low:
                yield say(f"greater than {go_number(low)}")
        elif value < low:
            yield say(f"greater than or equal to {go_number(low)}")
    if high is not None:
        if schema.get("exclusiveMaximum"):
            if value >= high:
                yield say(f"less than {go_number(high)}")
        elif value > high:
            yield say(f"less than or equal to {go_number(high)}")


def _number_error(path: str, value: float, rule: str) -> FieldError:
    return invalid(_named(path), value, f"{path} in body should be {rule}")


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int) and float(factor).is_integer():
        return value % int(factor) == 0
    quotient = value / factor
    return quotient == math.trunc(quotient)


# Containers


def _check_list(schema: dict[str, Any], value: list[Any], path: str, old: Any) -> _Result:
    result = _Result()
    if items := schema.get("items"):
        before = _correlated(schema, value, old)
        for number, element in enumerate(value):
            result.merge(_check(items, element, f"{path}[{number}]", before[number]))
    if len(value) < schema.get("minItems", 0):
        text = f"{path} in body should have at least {schema['minItems']} items"
        result.add(invalid(_named(path), len(value), text))
    if len(value) > schema.get("maxItems", math.inf):
        result.add(too_many(_named(path), len(value), schema["maxItems"]))
    result.fitting += 1
    return result


def _correlated(schema: dict[str, Any], value: list[Any], old: Any) -> list[Any]:
    """Returns the old element of each element if keys identify them."""
    keys = schema.get("x-kubernetes-list-map-keys")
    if not keys or schema.get("x-kubernetes-list-type") != "map" or not isinstance(old, list):
        return [_ABSENT] * len(value)

    def identity(element: Any) -> tuple[Any, ...] | None:
        return tuple(repr(element.get(key)) for key in keys) if isinstance(element, dict) else None

    known = {identity(element): element for element in old}
    return [known.get(identity(element), _ABSENT) if isinstance(element, dict) else _ABSENT for element in value]


def _check_object(schema: dict[str, Any], value: dict[str, Any], path: str, old: Any) -> _Result:
    result = _Result()
    before: dict[str, Any] = old if isinstance(old, dict) else {}
    if len(value) < schema.get("minProperties", 0):
        text = f"{path} in body should have at least {schema['minProperties']} properties"
        result.add(invalid(_named(path), len(value), text))
    if len(value) > schema.get("maxProperties", math.inf):
        result.add(too_many(_named(path), len(value), schema["maxProperties"]))
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    if isinstance(others, dict):
        for name, member in value.items():
            if name not in properties:
                result.merge(_check(others, member, f"{path}.{name}", before.get(name, _ABSENT)))
    elif others is False:
        for name in value:
            if name not in properties:
                result.add(invalid(_named(path), name, f"{path}.{name} in body is a forbidden property"))
    dot = "." if path else ""
    for name, member_schema in properties.items():
        if name in value:
            member = value[name]
            result.merge(_check(member_schema, member, f"{path}{dot}{name}", before.get(name, _ABSENT)))
    result.add(*(required(_named(f"{path}.{name}")) for name in schema.get("required") or () if name not in value))
    return result


def _check_alternatives(schema: dict[str, Any], value: Any, path: str) -> _Result:
    result = _Result()
    if branches := schema.get("anyOf"):
        found = _until_valid([partial(_check, branch, value, path) for branch in branches])
        if found[-1].errors:
            result.add(invalid(_ROOT, "", f'"{path}" must validate at least one schema (anyOf)'))
            result.merge(_best(found))
        else:
            result.merge(found[-1])
    if branches := schema.get("oneOf"):
        found = [_check(branch, value, path) for branch in branches]
        valid = [one for one in found if not one.errors]
        if len(valid) == 1:
            result.merge(valid[0])
        else:
            how = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
            result.add(invalid(_ROOT, "", f'"{path}" must validate one and only one schema (oneOf). {how}'))
            if not valid:
                result.merge(_best(found))
    if branches := schema.get("allOf"):
        found = [_check(branch, value, path) for branch in branches]
        for one in found:
            result.merge(one)
        if any(one.errors for one in found):
            none = ". None validated" if all(one.errors for one in found) else ""
            result.add(invalid(_ROOT, "", f'"{path}" must validate all the schemas (allOf){none}'))
    if (excluded := schema.get("not")) is not None and not _check(excluded, value, path).errors:
        result.add(invalid(_ROOT, "", f'"{path}" must not validate the schema (not)'))
    result.fitting += 1
    return result


def _until_valid(checks: Sequence[Callable[[], _Result]]) -> list[_Result]:
    found = []
    for check in checks:
        found.append(check())
        if not found[-1].errors:
            break
    return found


def _best(found: list[_Result]) -> _Result:
    return max(found, key=lambda one: one.fitting)  # the first of several equal ones


# Formatting


def _named(path: str) -> str:
    return path.removeprefix(".")


def _first(errors: Iterator[FieldError]) -> Iterator[FieldError]:
    for error in errors:
        yield error
        return
