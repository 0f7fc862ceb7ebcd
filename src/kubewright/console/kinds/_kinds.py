"""`Kind`: a kind that the console shows; `kinds_of`: all of them, from definitions and from what the server serves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubewright.api import Untyped, info_of
from kubewright.client import ServedResource
from kubewright.console.kinds._columns import Column, Printer, custom_printer, printer_of

__all__ = ["Kind", "kinds_of", "served_version"]


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind, in the version that is shown. Kinds are equal when their `path` is."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    resource: type[Untyped] = field(repr=False)
    """The class for client and cache."""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: frozenset[str] = frozenset()
    """What the server offers, where it said so: `"create" in kind.verbs`."""
    crd: Mapping[str, Any] | None = field(default=None, repr=False)
    """The definition, as JSON, written by others: show it, do not obey it. None for kinds that are built in."""
    printer: Printer = field(default_factory=lambda: printer_of(""), repr=False)

    @property
    def path(self) -> str:
        """Its place in addresses: `example.com/foos`; of the core group `core/pods`."""
        return f"{self.group or 'core'}/{self.plural}"

    @property
    def api_version(self) -> str:
        """As objects have it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def custom(self) -> bool:
        """Whether a definition made it."""
        return self.crd is not None

    @property
    def revision(self) -> int:
        """Which state of the definition this is: the greater, the newer."""
        said = ((self.crd or {}).get("metadata") or {}).get("resourceVersion") or "0"
        return int(said) if said.isdecimal() else 0

    @property
    def columns(self) -> Sequence[Column]:
        """The printer columns, without name and namespace."""
        return self.printer.columns

    @property
    def definition(self) -> Mapping[str, Any]:
        """Of the definition, the part about this version; empty where there is none."""
        versions = ((self.crd or {}).get("spec") or {}).get("versions") or ()
        return next((one for one in versions if one.get("name") == self.version), {})

    @property
    def schema(self) -> dict[str, Any] | None:
        """The OpenAPI v3 schema of the version, where a definition has one."""
        schema: dict[str, Any] | None = (self.definition.get("schema") or {}).get("openAPIV3Schema")
        return schema

    @property
    def has_status(self) -> bool:
        """Whether the status is written through an endpoint of its own."""
        return "status" in info_of(self.resource).subresources

    @property
    def secret(self) -> bool:
        """Whether its values are masked until somebody asks for them."""
        return self.path == "core/secrets"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kind) and (self.path, self.version) == (other.path, other.version)

    def __hash__(self) -> int:
        return hash((self.path, self.version))

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


def kinds_of(definitions: Iterable[Mapping[str, Any]], served: Iterable[ServedResource]) -> list[Kind]:
    """All kinds whose objects can be listed and watched, by path. A definition says more than discovery does."""
    found: dict[str, Kind] = {}
    verbs: dict[tuple[str, str], frozenset[str]] = {}
    for one in served:
        info = one.info
        path = f"{info.group or 'core'}/{info.plural}"
        verbs.setdefault((path, info.version), one.verbs)
        if path in found or not {"list", "watch"} <= one.verbs:
            continue  # the server names the version that it prefers first
        found[path] = Kind(
            group=info.group,
            version=info.version,
            kind=info.kind,
            plural=info.plural,
            singular=info.singular,
            namespaced=info.namespaced,
            resource=Untyped.kind_of(
                info.api_version,
                info.kind,
                plural=info.plural,
                singular=info.singular,
                namespaced=info.namespaced,
                subresources=info.subresources,
            ),
            short_names=one.short_names,
            categories=one.categories,
            verbs=one.verbs,
            printer=printer_of(f"{info.plural}.{info.group}" if info.group else info.plural, info.api_version),
        )
    for definition in definitions:
        kind = _defined(definition, verbs)
        if kind is not None:
            found[kind.path] = kind
    return [found[path] for path in sorted(found)]


_ALL_VERBS = frozenset(["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"])
_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


def served_version(definition: Mapping[str, Any]) -> str | None:
    """The version that the server prefers: stable before beta before alpha, and newer before older."""
    versions = (definition.get("spec") or {}).get("versions") or ()
    names = [one["name"] for one in versions if one.get("served")]
    return max(names, key=_priority, default=None)


def _priority(version: str) -> tuple[Any, ...]:
    parts = _VERSION.fullmatch(version)
    if parts is None:
        # Those that are no version come last, in the order of the alphabet.
        return (0, tuple(-ord(letter) for letter in version))
    major, stage, minor = parts.groups()
    return (1, {None: 3, "beta": 2, "alpha": 1}[stage], int(major), int(minor or 0))


def _defined(definition: Mapping[str, Any], verbs: Mapping[tuple[str, str], frozenset[str]]) -> Kind | None:
    version, spec = served_version(definition), definition.get("spec") or {}
    conditions = (definition.get("status") or {}).get("conditions") or ()
    established = any(one.get("type") == "Established" and one.get("status") == "True" for one in conditions)
    if version is None or not established:
        return None
    # What the server has accepted counts: the wish may name a plural that another definition has already.
    names = (definition.get("status") or {}).get("acceptedNames") or spec["names"]
    about = next(one for one in spec["versions"] if one["name"] == version)
    group, namespaced = spec["group"], spec["scope"] == "Namespaced"
    singular = names.get("singular") or names["kind"].lower()
    return Kind(
        group=group,
        version=version,
        kind=names["kind"],
        plural=names["plural"],
        singular=singular,
        namespaced=namespaced,
        resource=Untyped.kind_of(
            f"{group}/{version}",
            names["kind"],
            plural=names["plural"],
            singular=singular,
            namespaced=namespaced,
            subresources=frozenset(about.get("subresources") or ()),
        ),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=verbs.get((f"{group}/{names['plural']}", version), _ALL_VERBS),
        crd=definition,
        printer=custom_printer(about.get("additionalPrinterColumns") or ()),
    )
