"""Initial values of a new object: an example, or the minimum that the schema requires."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from kubewright.console.forms._document import Document
from kubewright.console.forms._fields import Field
from kubewright.console.forms._paths import MISSING
from kubewright.console.kinds import DeclaredForm

__all__ = ["minimal_object", "olm_examples", "schema_example"]

_MAX_DEPTH: Final = 12
_MAX_DIGITS: Final = 18
"""The longest number in a choice that is compared as a number. Longer ones are compared as strings."""
_FORMATS: Final = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "duration": "1h",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "cidr": "192.0.2.0/24",
    "email": "user@example.com",
    "hostname": "host.example.com",
    "uri": "https://example.com/",
    "byte": "",
}


def minimal_object(
    api_version: str, kind: str, form: Field, namespace: str | None, declared: DeclaredForm | None = None
) -> dict[str, Any]:
    """Returns a new object: the declared initial values, and the required fields that have an obvious value.

    A required choice or number without default, example and minimum stays empty: any value would be a guess that users
    might not notice. The name is left empty, too.
    """
    made: dict[str, Any] = {"apiVersion": api_version, "kind": kind, "metadata": {"name": ""}}
    if namespace:
        made["metadata"]["namespace"] = namespace
    for name, field in form.members.items():
        if name in made or name == "status":
            continue
        if field.required or (name == "spec" and field.shape == "object"):
            value = _minimal_value(field, 0)
            if value is not MISSING:
                made[name] = value
    return _with_declared(made, form, declared) if declared is not None else made


def _with_declared(made: dict[str, Any], form: Field, declared: DeclaredForm) -> dict[str, Any]:
    """Adds the declared values. Skips paths that the schema does not contain."""
    values = dict(declared.initial)
    for path in declared.newest:
        field = form.find(path)
        if field is not None and field.shape == "choice":
            values[path] = max(field.choices, key=_choice_order)
    document = Document(made)
    for path, value in values.items():
        if form.find(path) is not None:
            with suppress(LookupError):
                document.put(path, value)
    return document.value


def _choice_order(choice: Any) -> tuple[tuple[int, int, str], ...]:
    """Returns the sort key of a choice. Compares numbers by value, so "9.6" comes before "17"."""
    parts = re.findall(r"\d+|\D+", str(choice))
    return tuple(
        (1, int(part), "") if part.isdecimal() and len(part) <= _MAX_DIGITS else (0, 0, part) for part in parts
    )


def _minimal_value(field: Field, depth: int) -> Any:
    schema = field.schema
    if "example" in schema:
        return copy.deepcopy(schema["example"])
    if depth > _MAX_DEPTH or field.nullable:
        return None if field.nullable else {}
    match field.shape:
        case "choice":
            return field.choices[0] if len(field.choices) == 1 else MISSING
        case "boolean":
            return False
        case "integer" | "number" | "int-or-string":
            return _minimal_number(schema)
        case "text":
            return _minimal_string(schema)
        case "list":
            elements = [_minimal_value(field.element, depth + 1) for _ in range(min(schema.get("minItems") or 0, 3))]
            return [one for one in elements if one is not MISSING]
        case "object":
            values = {
                name: _minimal_value(member, depth + 1)
                for name, member in field.members.items()
                if member.required and member.default is MISSING
            }
            return {name: value for name, value in values.items() if value is not MISSING}
        case _:
            return {}


def _minimal_number(schema: Mapping[str, Any]) -> Any:
    low, high, factor = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
    if (low is None or low <= 0) and (high is None or high >= 0):
        return MISSING
    value: int | float = 0
    if low is not None and low > 0:
        value = low + (1 if schema.get("exclusiveMinimum") else 0)
    elif high is not None and high < 0:
        value = high - (1 if schema.get("exclusiveMaximum") else 0)
    if factor and value % factor:
        value += factor - value % factor
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _minimal_string(schema: Mapping[str, Any]) -> str:
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    return "x" * (schema.get("minLength") or 0) if not schema.get("pattern") else ""


def schema_example(schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Returns the example of the whole object, or of its spec, from a schema. None if there is none."""
    if not schema:
        return None
    if isinstance(whole := schema.get("example"), dict) and whole:
        return copy.deepcopy(whole)
    spec = (schema.get("properties") or {}).get("spec") or {}
    if isinstance(example := spec.get("example"), dict) and example:
        return {"spec": copy.deepcopy(example)}
    return None


def olm_examples(annotations: Iterable[str], api_version: str, kind: str) -> list[dict[str, Any]]:
    """Returns the examples of a kind from OLM's `alm-examples`, a JSON annotation of ClusterServiceVersions."""
    found = []
    for text in annotations:
        try:
            examples = json.loads(text)
        except ValueError:
            continue
        found += [example for example in (examples if isinstance(examples, list) else ()) if isinstance(example, dict)]
    return [example for example in found if (example.get("apiVersion"), example.get("kind")) == (api_version, kind)]
