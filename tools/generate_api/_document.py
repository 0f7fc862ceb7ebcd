"""The OpenAPI document of a Kubernetes version, as far as types need it.

The document is `api/openapi-spec/swagger.json` in the Go module `k8s.io/kubernetes`. Where a kind is served is read
from its paths.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

__all__ = ["Definition", "Document", "Kind", "Module", "Property", "Served"]

_PATH: Final = re.compile(
    r"/apis?/(?:[^/]+/)??v[^/]+"
    r"(?P<namespaced>/namespaces/\{namespace\})?"
    r"/(?P<plural>[a-z]+)(?:/\{name\}(?:/(?P<subresource>[a-z]+))?)?"
)
_ORDER: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


@dataclass(frozen=True, order=True, slots=True)
class Kind:
    """Group, version and kind, as an object names itself."""

    group: str
    version: str
    name: str

    @property
    def api_version(self) -> str:
        """`apps/v1`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version


@dataclass(frozen=True, order=True, slots=True)
class Module:
    """The Python module of a group version."""

    package: str
    version: str

    @property
    def name(self) -> str:
        """`kubewright.api.apps.v1`."""
        return f"kubewright.api.{self.package}.{self.version}"

    @property
    def maturity(self) -> tuple[bool, bool, int, int]:
        """Orders the versions of a group as Kubernetes prefers them: v2 over v1 over v1beta2 over v1alpha1."""
        match = _ORDER.fullmatch(self.version)
        assert match, f"{self.version} is not a version"
        major, stage, minor = match.groups()
        return stage is None, stage == "beta", int(major), int(minor or 0)


@dataclass(frozen=True, slots=True)
class Served:
    """Where a kind is served. `plural` is empty for a kind that exists only as a subresource of others."""

    plural: str
    namespaced: bool
    subresources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Property:
    """One property of a definition; `schema` is its part of the document."""

    wire: str
    schema: dict[str, Any]
    required: bool

    @property
    def reference(self) -> str:
        """The name of the definition that is the property's type, or nothing."""
        return reference(self.schema)

    @property
    def list_keys(self) -> tuple[str, ...] | None:
        """The properties that identify an element of this list; () for a set, None for a list that is one value.

        Two lists are atomic in server-side apply but have a merge key in strategic merge patches: the key holds there
        too.
        """
        if self.schema.get("type") != "array":
            return None
        if self.schema.get("x-kubernetes-list-type") == "map":
            return tuple(self.schema["x-kubernetes-list-map-keys"])
        if "x-kubernetes-patch-merge-key" in self.schema:
            return (self.schema["x-kubernetes-patch-merge-key"],)
        return () if self.schema.get("x-kubernetes-list-type") == "set" else None


@dataclass(frozen=True, slots=True)
class Definition:
    """A type of the document. `kind` is set for those that objects on the server have."""

    name: str
    module: Module
    properties: tuple[Property, ...]
    kind: Kind | None

    @property
    def class_name(self) -> str:
        """`PodSpec`."""
        return self.name.rpartition(".")[2]

    @property
    def has_required(self) -> bool:
        """Whether an empty object is not a valid one."""
        return any(each.required for each in self.properties)

    def property(self, wire: str) -> Property | None:
        """The property of that name on the wire."""
        return next((each for each in self.properties if each.wire == wire), None)


@dataclass(frozen=True)
class Document:
    """The whole document, and its version of Kubernetes."""

    version: str
    content: dict[str, Any] = field(repr=False)

    @classmethod
    def load(cls, kubernetes: Path, version: str) -> Document:
        """Read the document from the folder of the Go module `k8s.io/kubernetes`."""
        return cls(version, json.loads((kubernetes / "api/openapi-spec/swagger.json").read_bytes()))

    @cached_property
    def definitions(self) -> dict[str, Definition]:
        """Every type that belongs to a group version and has a shape, by its full name; without lists of a kind."""
        found = {}
        for name, schema in self.content["definitions"].items():
            package, version = name.split(".")[-3:-1]
            if schema.get("type") != "object" or not _ORDER.fullmatch(version):
                continue
            kinds = [Kind(each["group"], each["version"], each["kind"]) for each in kinds_of(schema)]
            required = schema.get("required", ())
            properties = tuple(Property(wire, each, wire in required) for wire, each in _properties(schema))
            if kinds and any(each.wire == "items" for each in properties):
                continue
            kind = next((each for each in kinds if each in self.served), None)
            found[name] = Definition(name, Module(package, version), properties, kind)
        return found

    @cached_property
    def served(self) -> dict[Kind, Served]:
        """Where each kind is served, from the paths."""
        resources: dict[Kind, tuple[str, bool]] = {}
        subresources: dict[str, set[str]] = {}
        for path, kind in self._paths():
            match = _PATH.fullmatch(path)
            if match is None:  # the deprecated watch paths, and what lies below a proxy
                continue
            at = path[: match.end("plural")]
            if match["subresource"] is None:
                # A namespaced kind is also listed across namespaces; that path does not count.
                if kind not in resources or match["namespaced"]:
                    resources[kind] = match["plural"], match["namespaced"] is not None
            else:
                subresources.setdefault(at, set()).add(match["subresource"])
                resources.setdefault(kind, ("", match["namespaced"] is not None))
        return {
            kind: Served(plural, namespaced, tuple(sorted(subresources.get(_collection(kind, plural, namespaced), ()))))
            for kind, (plural, namespaced) in resources.items()
        }

    def _paths(self) -> Iterator[tuple[str, Kind]]:
        for path, operations in self.content["paths"].items():
            for operation in operations.values():
                if isinstance(operation, dict) and "x-kubernetes-group-version-kind" in operation:
                    kind = operation["x-kubernetes-group-version-kind"]
                    yield path, Kind(kind["group"], kind["version"], kind["kind"])


def reference(schema: dict[str, Any]) -> str:
    """The name of the definition that a schema refers to, or nothing."""
    target: str = schema.get("$ref", "")
    return target.removeprefix("#/definitions/")


def kinds_of(schema: dict[str, Any]) -> list[dict[str, str]]:
    """The kinds that a definition of the document claims to be."""
    kinds: list[dict[str, str]] = schema.get("x-kubernetes-group-version-kind", [])
    return kinds


def _properties(schema: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return sorted(schema.get("properties", {}).items())


def _collection(kind: Kind, plural: str, namespaced: bool) -> str:
    """The path of all objects of a kind, without their names."""
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    return f"{root}{'/namespaces/{namespace}' if namespaced else ''}/{plural}"
