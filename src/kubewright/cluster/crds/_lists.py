"""Lists of the types set and map: elements must be unique."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubewright.api.wire import canonical_json
from kubewright.cluster.machinery._field_errors import FieldError, duplicate, invalid

__all__ = ["duplicates"]


def duplicates(schema: dict[str, Any] | None, value: Any, path: str = "") -> Iterator[FieldError]:
    """Yields an error for each duplicate element of a set, and each duplicate key of a map."""
    schema = schema or {}
    if isinstance(value, list):
        match schema.get("x-kubernetes-list-type"):
            case "set":
                yield from (
                    duplicate(f"{path}[{at}]", value[at]) for at in _repeated([canonical_json(each) for each in value])
                )
            case "map":
                yield from _repeated_keys(schema, value, path)
        for number, element in enumerate(value):
            yield from duplicates(schema.get("items"), element, f"{path}[{number}]")
    elif isinstance(value, dict):
        properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, member in value.items():
            if name in properties:
                yield from duplicates(properties[name], member, f"{path}.{name}" if path else name)
            elif isinstance(others, dict):
                yield from duplicates(others, member, f"{path}[{name}]")


def _repeated_keys(schema: dict[str, Any], value: list[Any], path: str) -> Iterator[FieldError]:
    for number, element in enumerate(value):
        if element is not None and not isinstance(element, dict):
            yield invalid(f"{path}[{number}]", element, "must be an object for an array of list-type map")
            return
    keys: list[str] = schema.get("x-kubernetes-list-map-keys") or []
    identities = [{key: (element or {})[key] for key in keys if key in (element or {})} for element in value]
    # An element without any key counts as an element that may occur once.
    for at in _repeated([canonical_json(identity) for identity in identities]):
        yield duplicate(f"{path}[{at}]", identities[at])


def _repeated(forms: list[bytes]) -> list[int]:
    """Yields the position of the second occurrence of each form. Further ones are not reported."""
    seen: dict[bytes, int] = {}
    found = []
    for number, form in enumerate(forms):
        seen[form] = seen.get(form, 0) + 1
        if seen[form] == 2:
            found.append(number)
    return found
