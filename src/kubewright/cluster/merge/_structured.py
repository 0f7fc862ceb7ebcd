"""Merges a partial object by the schema, without ownership, for mutating policies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubewright.cluster.merge._elements import ElementError
from kubewright.cluster.merge._errors import Refused, refusing_depth
from kubewright.cluster.merge._typed import merge, schema_errors
from kubewright.cluster.schema import Schema

__all__ = ["structured_merge"]


@refusing_depth
def structured_merge(document: dict[str, Any], patch: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Returns the document merged with the patch.

    The patch must match the schema and must not contain atomic values, which would remove what it does not mention.
    """
    if wrong := schema_errors(schema, patch):
        raise _refused(f"failed to convert patch object to typed object: {wrong}")
    if atomics := [*_atomics(schema, patch, "")]:
        text = f"may not mutate atomic arrays, maps or structs: {', '.join(atomics)}"
        raise _refused(f"invalid ApplyConfiguration: {text}")
    try:
        merged: dict[str, Any] = merge(schema, document, patch)
    except ElementError as error:
        raise _refused(f"failed to merge patch: {error}") from None
    return merged


def _refused(message: str) -> Refused:
    return Refused(422, "Invalid", message)


def _atomics(schema: Schema, value: Any, path: str) -> Iterator[str]:
    """Yields the paths of atomic values. Maps with arbitrary keys are skipped, as on the real server."""
    if isinstance(value, dict) and schema.is_map:
        if schema.atomic:
            yield path
        for name, item in value.items():
            inner = schema.fields[name]
            if inner is not None:
                yield from _atomics(inner, item, f"{path}.{name}")
    elif isinstance(value, list) and schema.is_list:
        if schema.list_type == "atomic":
            yield path
        if schema.items is not None:
            for number, item in enumerate(value):
                yield from _atomics(schema.items, item, f"{path}[{number}]")
