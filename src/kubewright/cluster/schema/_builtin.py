"""The schemas of the built-in kinds, from the packaged file.

The file (`builtin.bin`, written by `tools/generate_schemas`) has one compressed part for each Go package of types. A
part
is read on first use.
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from kubewright.cluster.schema._node import Schema, read

__all__ = [
    "ResourceFacts",
    "SubresourceFacts",
    "builtin_group_versions",
    "builtin_resources",
    "builtin_schema",
    "definition",
    "definition_names",
    "definition_schema",
    "kinds",
    "version",
]

_FILE = Path(__file__).with_name("builtin.bin")


class SubresourceFacts(msgspec.Struct, frozen=True, array_like=True):
    """A subresource: its name, the kind of its body, that kind's group version if it differs, and its verbs."""

    name: str
    kind: str
    group_version: str
    verbs: tuple[str, ...]


class ResourceFacts(msgspec.Struct, frozen=True, array_like=True):
    """A resource as in the server's document; the verbs are those of discovery."""

    plural: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    subresources: tuple[SubresourceFacts, ...]


class _Index(msgspec.Struct):
    """The index of the file."""

    version: str
    parts: dict[str, tuple[int, int]]
    kinds: dict[str, dict[str, str]]
    members: dict[str, list[str]]
    resources: dict[str, msgspec.Raw]


def builtin_schema(api_version: str, kind: str) -> Schema | None:
    """Returns the schema of a built-in kind; None if there is no such kind."""
    name = _index()[0].kinds.get(api_version, {}).get(kind)
    return None if name is None else definition_schema(name)


def builtin_group_versions() -> tuple[str, ...]:
    """Returns every group version that has a document: `v1`, `apps/v1` and so on."""
    return tuple(_index()[0].members)


@cache
def builtin_resources(group_version: str) -> tuple[ResourceFacts, ...]:
    """Returns the resources of a group version; empty if it is not built in."""
    facts = _index()[0].resources.get(group_version)
    return () if facts is None else msgspec.json.decode(facts, type=tuple[ResourceFacts, ...])


def version() -> str:
    """Returns the version of Kubernetes that the file describes."""
    return _index()[0].version


def kinds(group_version: str) -> dict[str, str]:
    """Returns the definition name of each kind in a group version, including lists and options."""
    return _index()[0].kinds.get(group_version, {})


def definition_names(group_version: str) -> list[str]:
    """Returns the names of all definitions in the document of a group version."""
    return _index()[0].members.get(group_version, [])


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
