"""Checks a JSON value against a structural schema, as the API server does.

Field paths are the server's. CEL rules are evaluated if the extra `test` is installed; without it, only those of
`ExactlyOneOf`, `AtMostOneOf` and `AtLeastOneOf` are. As on the server, CEL rules run only if everything else is valid.
The server checks more (changes, names and labels in the metadata, admission), so it can reject an object without
violations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from kubewright.api._violation import Violation
from kubewright.api.schema._cel import cel_name, holds_one_of
from kubewright.api.schema._formats import fits_format
from kubewright.api.wire import equal_json, json_type
from kubewright.regex import InvalidPattern, has_engine, skip_pattern, text_matches

if TYPE_CHECKING:
    from kubewright.api.cel import Rules

__all__ = ["rules_of", "violations"]

_WORDS: Final = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_BITS: Final = {"int32": 31, "int64": 63}


def rules_of(schema: dict[str, Any]) -> Rules | None:
    """Returns the compiled CEL rules of a schema; None if it has none, or if the extra is not installed."""
    from kubewright.api.cel import Rules, has_rules, is_available

    return Rules(schema) if has_rules(schema) and is_available() else None


def violations(
    schema: dict[str, Any], value: Any, path: str = "", *, rules: Rules | None = None, old: Any = None
) -> list[Violation]:
    """Returns every violation of the schema by the value.

    Args:
        schema: the structural schema.
        value: the JSON value.
        path: the path of the value, if it is a part of an object. CEL rules are then skipped.
        rules: the compiled CEL rules of the schema, from `rules_of`.
        old: the object that the value replaces, to check rules about changes too.
    """
    if not path:
        rules = rules or rules_of(schema)
    if path or rules is None:
        return _broken(schema, value, path)
    shape = [*_check(schema, value, ""), *_check_structure(schema, value, "", one_of=False)]
    if shape:
        return shape
    outcome = rules.check(_filled(schema, value), old, is_update=old is not None)
    return [Violation(found.path, found.detail) for found in outcome.broken]


def _filled(schema: dict[str, Any], value: Any) -> Any:
    """Returns the value with the defaults of its schema, which the server sets before it evaluates rules."""
    if isinstance(value, list):
        return [_filled(schema.get("items", {}), element) for element in value]
    if not isinstance(value, dict):
        return value
    properties, other = schema.get("properties", {}), schema.get("additionalProperties")
    made = {name: member for name, member in value.items() if member is not None or name not in properties}
    for name, node in properties.items():
        if name not in made and "default" in node:
            made[name] = node["default"]
    return {name: _filled(properties.get(name) or other or {}, member) for name, member in made.items()}


def _broken(schema: dict[str, Any], value: Any, path: str) -> list[Violation]:
    """Returns the violations that can be found without evaluating CEL."""
    return [*_check(schema, value, path), *_check_structure(schema, value, path)]


def _check(schema: dict[str, Any], value: Any, path: str) -> Iterator[Violation]:
    if value is None:
        typed = "type" in schema or schema.get("x-kubernetes-int-or-string")
        if typed and not schema.get("nullable"):
            yield Violation(path, f"must be {_expected(schema)}, not null")
        return
    if not _is_of_type(schema, value):
        yield Violation(path, f"must be {_expected(schema)}, not {_WORDS[_json_type(value)]}")
        return
    if "enum" in schema and not any(equal_json(value, choice) for choice in schema["enum"]):
        yield Violation(path, f"must be one of {', '.join(map(_shown, schema['enum']))}, not {_shown(value)}")
    if isinstance(value, str):
        yield from _check_text(schema, value, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _check_number(schema, value, path)
    elif isinstance(value, list):
        yield from _check_list(schema, value, path)
    elif isinstance(value, dict):
        yield from _check_object(schema, value, path)
    yield from _check_branches(schema, value, path)


def _check_one_of(schema: dict[str, Any], value: dict[str, Any], path: str) -> Iterator[Violation]:
    """Checks the CEL rules that need no CEL engine: those of `ExactlyOneOf`, `AtMostOneOf` and `AtLeastOneOf`."""
    nodes = {cel_name(name): (name, node) for name, node in schema.get("properties", {}).items()}

    def is_set(cel: str) -> bool:
        name, node = nodes.get(cel, (cel, {}))
        return value.get(name) is not None or (name not in value and "default" in node)

    for rule in schema.get("x-kubernetes-validations", ()):
        if holds_one_of(rule["rule"], is_set) is False:
            yield Violation(path, rule.get("message") or f"breaks the rule {rule['rule']}")


def _check_text(schema: dict[str, Any], value: str, path: str) -> Iterator[Violation]:
    if len(value) < schema.get("minLength", 0):
        yield Violation(path, f"must have at least {schema['minLength']} characters, not {len(value)}")
    if len(value) > schema.get("maxLength", math.inf):
        yield Violation(path, f"must have at most {schema['maxLength']} characters, not {len(value)}")
    if "pattern" in schema and not _matches(schema["pattern"], value):
        yield Violation(path, f"must match {schema['pattern']}, as {_shown(value)} does not")
    if "format" in schema and not fits_format(schema["format"], value):
        yield Violation(path, f"must be of the format {schema['format']}, not {_shown(value)}")


def _matches(pattern: str, value: str) -> bool:
    """Whether the value matches a pattern. True without RE2, and for an invalid pattern: the server decides."""
    if not has_engine(pattern):
        skip_pattern()
        return True
    try:
        return text_matches(pattern, value)
    except InvalidPattern:
        return True


def _check_number(schema: dict[str, Any], value: float, path: str) -> Iterator[Violation]:
    low, high, factor = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
    if low is not None and (value < low or (schema.get("exclusiveMinimum") and value == low)):
        yield Violation(path, f"must be {'above' if schema.get('exclusiveMinimum') else 'at least'} {low}, not {value}")
    if high is not None and (value > high or (schema.get("exclusiveMaximum") and value == high)):
        yield Violation(path, f"must be {'below' if schema.get('exclusiveMaximum') else 'at most'} {high}, not {value}")
    if factor is not None and value % factor:
        yield Violation(path, f"must be a multiple of {factor}, as {value} is not")
    bits = _BITS.get(schema.get("format", ""))
    if bits is not None and not -(2**bits) <= value < 2**bits:
        yield Violation(path, f"must fit into {schema['format']}, as {value} does not")


def _check_list(schema: dict[str, Any], value: list[Any], path: str) -> Iterator[Violation]:
    if len(value) < schema.get("minItems", 0):
        yield Violation(path, f"must have at least {schema['minItems']} elements, not {len(value)}")
    if len(value) > schema.get("maxItems", math.inf):
        yield Violation(path, f"must have at most {schema['maxItems']} elements, not {len(value)}")
    for number, element in enumerate(value):
        yield from _check(schema.get("items", {}), element, f"{path}[{number}]")


def _check_structure(schema: dict[str, Any], value: Any, path: str, *, one_of: bool = True) -> Iterator[Violation]:
    """Checks sets, list maps, embedded objects and CEL, as the server does separately, with map keys in brackets."""
    if isinstance(value, list):
        if schema.get("x-kubernetes-list-type") in ("set", "map"):
            yield from _check_duplicates(schema, value, path)
        for number, element in enumerate(value):
            yield from _check_structure(schema.get("items", {}), element, f"{path}[{number}]", one_of=one_of)
    elif isinstance(value, dict):
        dot = "." if path else ""
        if schema.get("x-kubernetes-embedded-resource"):
            for name in ("apiVersion", "kind"):
                if not value.get(name):
                    yield Violation(f"{path}{dot}{name}", "is required of an embedded object")
        if one_of:
            yield from _check_one_of(schema, value, path)
        properties, other = schema.get("properties", {}), schema.get("additionalProperties")
        for name, member in value.items():
            if name in properties:
                yield from _check_structure(properties[name], member, f"{path}{dot}{name}", one_of=one_of)
            elif other:
                yield from _check_structure(other, member, f"{path}[{name}]", one_of=one_of)


def _check_duplicates(schema: dict[str, Any], value: list[Any], path: str) -> Iterator[Violation]:
    keys = schema.get("x-kubernetes-list-map-keys")
    defaults = {key: schema["items"]["properties"].get(key, {}).get("default") for key in keys or ()}
    seen: list[Any] = []
    for number, element in enumerate(value):
        if keys and not isinstance(element, dict):
            continue
        identity = {key: element.get(key, defaults[key]) for key in keys} if keys else element
        if any(equal_json(identity, other) for other in seen):
            yield Violation(f"{path}[{number}]", f"is a duplicate: {_shown(identity)}")
        else:
            seen.append(identity)


def _check_object(schema: dict[str, Any], value: dict[str, Any], path: str) -> Iterator[Violation]:
    if len(value) < schema.get("minProperties", 0):
        yield Violation(path, f"must have at least {schema['minProperties']} members, not {len(value)}")
    if len(value) > schema.get("maxProperties", math.inf):
        yield Violation(path, f"must have at most {schema['maxProperties']} members, not {len(value)}")
    properties, other = schema.get("properties", {}), schema.get("additionalProperties")
    dot = "." if path else ""
    required = schema.get("required", [])
    for name in required:
        if name not in value and "default" not in properties.get(name, {}):
            yield Violation(f"{path}{dot}{name}", "is required")
    for name, member in value.items():
        known = properties.get(name, other)
        if member is None and name not in required:
            continue  # the server drops a null that is not allowed, unless the field is required
        if known:
            yield from _check(known, member, f"{path}{dot}{name}")


def _check_branches(schema: dict[str, Any], value: Any, path: str) -> Iterator[Violation]:
    branches = schema.get("oneOf")
    if branches and sum(not _broken(branch, value, path) for branch in branches) != 1:
        # The server also reports why the best branch does not fit. The tag identifies that branch.
        for branch in branches:
            tags = branch.get("properties", {})
            if all(not _broken(tag, value.get(name), "") for name, tag in tags.items()):
                yield from _check(branch, value, path)
        yield Violation(path, "must match exactly one variant of the union")
    if schema.get("anyOf") and all(_broken(branch, value, path) for branch in schema["anyOf"]):
        yield Violation(path, "must match one of the alternatives, and matches none")
    for branch in schema.get("allOf", ()):
        yield from _check(branch, value, path)
    if "not" in schema and not _broken(schema["not"], value, path):
        yield Violation(path, "has members of another variant")


def _is_of_type(schema: dict[str, Any], value: Any) -> bool:
    actual = _json_type(value)
    if schema.get("x-kubernetes-int-or-string"):
        return actual in ("integer", "string")
    expected = schema.get("type")
    return expected is None or expected == actual or (expected == "number" and actual == "integer")


def _json_type(value: Any) -> str:
    is_whole = isinstance(value, float) and value.is_integer()
    return "integer" if is_whole else json_type(value)  # JSON does not distinguish 1 and 1.0


def _expected(schema: dict[str, Any]) -> str:
    return _WORDS[schema["type"]] if "type" in schema else "an integer or a string"


def _shown(value: Any) -> str:
    import json

    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
