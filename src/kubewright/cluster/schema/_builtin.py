"""The schemas of the built-in kinds, from the packaged file.

The file (`builtin.bin`, written by `tools/generate_schemas`) has one compressed part for each Go package of types. A
part is read on first use.
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from kubewright.cluster.schema._node import Schema, read

__all__ = [
    "builtin_schema",
    "definition",
    "definition_schema",
]

_FILE = Path(__file__).with_name("builtin.bin")


class _Index(msgspec.Struct):
    """The index of the file."""

    parts: dict[str, tuple[int, int]]
    kinds: dict[str, dict[str, str]]


def builtin_schema(api_version: str, kind: str) -> Schema | None:
    """Returns the schema of a built-in kind; None if there is no such kind."""
    name = _index()[0].kinds.get(api_version, {}).get(kind)
    return None if name is None else definition_schema(name)


def definition(name: str) -> dict[str, Any]:
    """Returns a definition as OpenAPI v3, by its full name, with our extension `x-go`. Raises KeyError."""
    package, _, short = name.rpartition(".")
    found: dict[str, Any] = _part(package)[short]
    return found


@cache  # bounded by the number of definitions
def definition_schema(name: str) -> Schema:
    """Returns the schema of a definition by its full name, `io.k8s.api.core.v1.PodSpec`. Raises KeyError."""
    return read(definition(name), definition_schema, name=name)


@cache
def _index() -> tuple[_Index, bytes]:
    length, _, rest = _FILE.read_bytes().partition(b"\n")
    return msgspec.json.decode(zlib.decompress(rest[: int(length)]), type=_Index), rest[int(length) :]


@cache
def _part(package: str) -> dict[str, Any]:
    index, blobs = _index()
    at, size = index.parts[package]
    part: dict[str, Any] = msgspec.json.decode(zlib.decompress(blobs[at : at + size]))
    return part
