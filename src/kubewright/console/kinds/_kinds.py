"""`Kind`: a kind that the console shows. `kinds_of`: all kinds, from definitions and discovery."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubewright.api import Untyped, info_of
from kubewright.client import ServedResource
from kubewright.console.kinds._columns import Column, Printer, custom_printer, printer_of
from kubewright.console.kinds._declared import DeclaredForm, DeclaredStates, declared_form, declared_states

__all__ = ["Kind", "kinds_of", "served_version"]


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind in one version. Kinds are equal if path and version are equal."""

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
    """The verbs that the server offers: `"create" in kind.verbs`."""
    crd: Mapping[str, Any] | None = field(default=None, repr=False)
    """The definition as JSON, which is untrusted input. None for built-in kinds."""
    printer: Printer = field(default_factory=lambda: printer_of(""), repr=False)
    states: DeclaredStates | None = field(default=None, repr=False)
    """The states that the operator declared for the kind."""
    form: DeclaredForm = field(default_factory=DeclaredForm, repr=False)
    """The form that the operator declared for the kind."""

    @property
    def path(self) -> str:
        """The kind in URL paths: `example.com/foos`, or `core/pods` for the core group."""
        return f"{self.group or 'core'}/{self.plural}"

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def custom(self) -> bool:
        """Whether a CustomResourceDefinition defines the kind."""
        return self.crd is not None

    @property
    def revision(self) -> int:
        """The resourceVersion of the definition. A greater one is newer."""
        said = ((self.crd or {}).get("metadata") or {}).get("resourceVersion") or "0"
        return int(said) if said.isdecimal() else 0

    @property
    def columns(self) -> Sequence[Column]:
        """The printer columns, without name and namespace."""
        return self.printer.columns

    @property
    def definition(self) -> Mapping[str, Any]:
        """The part of the definition about this version; empty for built-in kinds."""
        versions = ((self.crd or {}).get("spec") or {}).get("versions") or ()
        return next((one for one in versions if one.get("name") == self.version), {})

    @property
    def schema(self) -> dict[str, Any] | None:
        """The OpenAPI v3 schema of the version, if the definition has one."""
        schema: dict[str, Any] | None = (self.definition.get("schema") or {}).get("openAPIV3Schema")
        return schema

    @property
    def has_status(self) -> bool:
        """Whether the kind has a status subresource."""
        return "status" in info_of(self.resource).subresources

    @property
    def secret(self) -> bool:
        """Whether values are masked until the viewer asks for them."""
        return self.path == "core/secrets"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kind) and (self.path, self.version) == (other.path, other.version)

    def __hash__(self) -> int:
        return hash((self.path, self.version))

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


def kinds_of(definitions: Iterable[Mapping[str, Any]], served: Iterable[ServedResource]) -> list[Kind]:
    """Returns all kinds that can be listed and watched, sorted by path. Definitions take precedence over discovery."""
    found: dict[str, Kind] = {}
    verbs: dict[tuple[str, str], frozenset[str]] = {}
    for one in served:
        info = one.info
        path = f"{info.group or 'core'}/{info.plural}"
        verbs.setdefault((path, info.version), one.verbs)
        if path in found or not {"list", "watch"} <= one.verbs:
            continue  # discovery lists the preferred version first
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
    """Returns the version that the server prefers: stable before beta before alpha, newer before older."""
    versions = (definition.get("spec") or {}).get("versions") or ()
    names = [one["name"] for one in versions if one.get("served")]
    return max(names, key=_priority, default=None)


def _priority(version: str) -> tuple[Any, ...]:
    parts = _VERSION.fullmatch(version)
    if parts is None:
        # Names that are not Kubernetes versions come last, in alphabetical order.
        return (0, tuple(-ord(letter) for letter in version))
    major, stage, minor = parts.groups()
    return (1, {None: 3, "beta": 2, "alpha": 1}[stage], int(major), int(minor or 0))


def _defined(definition: Mapping[str, Any], verbs: Mapping[tuple[str, str], frozenset[str]]) -> Kind | None:
    version, spec = served_version(definition), definition.get("spec") or {}
    conditions = (definition.get("status") or {}).get("conditions") or ()
    established = any(one.get("type") == "Established" and one.get("status") == "True" for one in conditions)
    if version is None or not established:
        return None
    # Uses the accepted names, because the requested plural may belong to another definition.
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
        states=declared_states(definition),
        form=declared_form(definition),
        printer=custom_printer(about.get("additionalPrinterColumns") or ()),
    )
