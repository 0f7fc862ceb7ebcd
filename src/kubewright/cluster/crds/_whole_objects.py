"""Embedded objects (`x-kubernetes-embedded-resource`): validation of apiVersion and kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubewright.cluster.machinery._field_errors import FieldError, invalid, required
from kubewright.names import label_1035_problems

__all__ = ["nameless"]

_EMPTY = "must not be empty"


def nameless(schema: dict[str, Any] | None, value: Any, path: str = "") -> Iterator[FieldError]:
    """Validates the apiVersion and kind of each embedded object."""
    schema = schema or {}
    if isinstance(value, list):
        for number, element in enumerate(value):
            yield from nameless(schema.get("items"), element, f"{path}[{number}]")
    elif isinstance(value, dict):
        if schema.get("x-kubernetes-embedded-resource"):
            yield from _version_errors(value, path)
            yield from _kind_errors(value, path)
        properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, member in value.items():
            if name in properties:
                yield from nameless(properties[name], member, f"{path}.{name}" if path else name)
            elif isinstance(others, dict):
                yield from nameless(others, member, f"{path}[{name}]")


def _version_errors(value: dict[str, Any], path: str) -> Iterator[FieldError]:
    place = f"{path}.apiVersion"
    if "apiVersion" not in value:
        yield required(place)
    elif not isinstance(version := value["apiVersion"], str):
        yield invalid(place, version, "must be a string")
    elif not version:
        yield invalid(place, version, _EMPTY)
    elif version.count("/") > 1:
        yield invalid(place, version, f"unexpected GroupVersion string: {version}")


def _kind_errors(value: dict[str, Any], path: str) -> Iterator[FieldError]:
    place = f"{path}.kind"
    if "kind" not in value:
        yield required(place)
    elif not isinstance(kind := value["kind"], str):
        yield invalid(place, kind, "must be a string")
    elif not kind:
        yield invalid(place, kind, _EMPTY)
    elif problems := label_1035_problems(kind.lower()):
        text = "may have mixed case, but should otherwise match: "
        yield invalid(place, kind, text + ",".join(problems))
