"""Initial values of a new object: an example, or the minimum that the schema requires."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kubewright.console.forms._fields import Field
from kubewright.console.forms._paths import MISSING

__all__ = ["minimal_object", "olm_examples", "schema_example"]

_DEEPEST: Final = 12
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


def minimal_object(api_version: str, kind: str, form: Field, namespace: str | None) -> dict[str, Any]:
    """Returns a new object with the required fields, each with a value of its type. The name is left empty."""
    made: dict[str, Any] = {"apiVersion": api_version, "kind": kind, "metadata": {"name": ""}}
    if namespace:
        made["metadata"]["namespace"] = namespace
    for name, field in form.members.items():
        if name in made or name == "status":
            continue
        if field.required or (name == "spec" and field.shape == "object"):
            made[name] = _value(field, 0)
    return made


def _value(field: Field, depth: int) -> Any:
    schema = field.schema
    if "example" in schema:
        return copy.deepcopy(schema["example"])
    if depth > _DEEPEST or field.nullable:
        return None if field.nullable else {}
    match field.shape:
        case "choice":
            return field.choices[0]
        case "boolean":
            return False
        case "integer" | "number" | "int-or-string":
            return _number(schema)
        case "text":
            return _text(schema)
        case "list":
            return [_value(field.element, depth + 1) for _ in range(min(schema.get("minItems") or 0, 3))]
        case "object":
            return {
                name: _value(member, depth + 1)
                for name, member in field.members.items()
                if member.required and member.default is MISSING
            }
        case _:
            return {}


def _number(schema: Mapping[str, Any]) -> int | float:
    low, high, factor = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
    value: int | float = 0
    if low is not None and low > 0:
        value = low + (1 if schema.get("exclusiveMinimum") else 0)
    elif high is not None and high < 0:
        value = high - (1 if schema.get("exclusiveMaximum") else 0)
    if factor and value % factor:
        value += factor - value % factor
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _text(schema: Mapping[str, Any]) -> str:
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
