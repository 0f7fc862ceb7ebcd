"""Embedded objects (`x-kubernetes-embedded-resource`): validation of apiVersion and kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubewright.cluster.machinery._field_errors import FieldError, invalid, required
from kubewright.names import label_1035_problems

__all__ = ["embedded_object_errors"]

_EMPTY = "must not be empty"


def embedded_object_errors(schema: dict[str, Any] | None, value: Any, path: str = "") -> Iterator[FieldError]:
    """Validates the apiVersion and kind of each embedded object."""
    schema = schema or {}
    if isinstance(value, list):
        for number, element in enumerate(value):
            yield from embedded_object_errors(schema.get("items"), element, f"{path}[{number}]")
    elif isinstance(value, dict):
        if schema.get("x-kubernetes-embedded-resource"):
            yield from _version_errors(value, path)
            yield from _kind_errors(value, path)
        properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, member in value.items():
            if name in properties:
                yield from embedded_object_errors(properties[name], member, f"{path}.{name}" if path else name)
            elif isinstance(others, dict):
                yield from embedded_object_errors(others, member, f"{path}[{name}]")


def _version_errors(value: dict[str, Any], path: str) -> Iterator[FieldError]:
    field = f"{path}.apiVersion"
    if "apiVersion" not in value:
        yield required(field)
    elif not isinstance(version := value["apiVersion"], str):
        yield invalid(field, version, "must be a string")
    elif not version:
        yield invalid(field, version, _EMPTY)
    elif version.count("/") > 1:
        yield invalid(field, version, f"unexpected GroupVersion string: {version}")


def _kind_errors(value: dict[str, Any], path: str) -> Iterator[FieldError]:
    field = f"{path}.kind"
    if "kind" not in value:
        yield required(field)
    elif not isinstance(kind := value["kind"], str):
        yield invalid(field, kind, "must be a string")
    elif not kind:
        yield invalid(field, kind, _EMPTY)
    elif problems := label_1035_problems(kind.lower()):
        text = "may have mixed case, but should otherwise match: "
        yield invalid(field, kind, text + ",".join(problems))
