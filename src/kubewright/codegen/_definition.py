"""Reads CustomResourceDefinitions of apiextensions v1 and v1beta1 into one form."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kubewright.api import Column, Scale
from kubewright.api.schema import parse_path
from kubewright.codegen._errors import CodegenError
from kubewright.codegen._normal import normal_schema
from kubewright.codegen._paths import leads_to
from kubewright.codegen._structure import check_field_names, check_structural, loosened

__all__ = ["KindSource", "VersionSource", "is_definition", "read_definition"]

_APPROVAL: Final = "api-approved.kubernetes.io"
_GROUP: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")
_VERSION: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_KIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LONGEST_WARNING: Final = 256
_ANYTHING: Final = "x-kubernetes-preserve-unknown-fields"


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionSource:
    """One version of a kind. The schema is in its normal form."""

    name: str
    schema: dict[str, Any]
    served: bool = True
    storage: bool = True
    deprecated: bool | str = False
    columns: Sequence[Mapping[str, Any]] = ()
    selectable_fields: Sequence[str] = ()
    has_status: bool = False
    scale: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KindSource:
    """A kind of a definition. `source` is where the definition was found."""

    source: str
    group: str
    kind: str
    plural: str
    singular: str
    list_kind: str
    namespaced: bool = True
    short_names: Sequence[str] = ()
    categories: Sequence[str] = ()
    approval: str | None = None
    versions: Sequence[VersionSource] = field(default=())

    @property
    def name(self) -> str:
        """The name of its definition: `certificates.cert-manager.io`."""
        return f"{self.plural}.{self.group}"


def is_definition(document: object) -> bool:
    """Whether a document is a CustomResourceDefinition."""
    return (
        isinstance(document, dict)
        and document.get("kind") == "CustomResourceDefinition"
        and str(document.get("apiVersion", "")).startswith("apiextensions.k8s.io/")
    )


def read_definition(
    document: Mapping[str, Any], source: str, *, descriptions: bool = True, lenient: bool = False
) -> KindSource:
    """Returns the kind that a CustomResourceDefinition defines. Raises CodegenError.

    With `lenient`, a schema without a type is any JSON; the API server would reject it.
    """
    try:
        return _read(document, source, descriptions=descriptions, lenient=lenient)
    except (KeyError, TypeError, AttributeError) as error:
        missing = f"{error} is missing" if isinstance(error, KeyError) else f"unexpected structure ({error})"
        raise CodegenError(source, f"not a complete CustomResourceDefinition: {missing}") from error


def _read(document: Mapping[str, Any], source: str, *, descriptions: bool, lenient: bool) -> KindSource:
    spec, metadata = document["spec"], document.get("metadata") or {}
    names = spec["names"]
    kind = str(names["kind"])
    old = document["apiVersion"] == "apiextensions.k8s.io/v1beta1"
    found = [_version(spec, version, old=old) for version in _versions(spec)]
    read = KindSource(
        source=source,
        group=str(spec["group"]),
        kind=kind,
        plural=str(names["plural"]),
        singular=str(names.get("singular") or kind.lower()),
        list_kind=str(names.get("listKind") or f"{kind}List"),
        namespaced=spec.get("scope", "Namespaced" if old else None) != "Cluster",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        approval=(metadata.get("annotations") or {}).get(_APPROVAL),
        versions=[
            _normal(
                replace(version, schema=loosened(version.schema)) if lenient else version, source, kind, descriptions
            )
            for version in found
        ],
    )
    _check_names(read)
    return read


def _check_names(kind: KindSource) -> None:
    """Raises CodegenError for names that the API server rejects, or that cannot be part of a program."""
    names = [("group", kind.group, _GROUP), ("kind", kind.kind, _KIND)]
    names += [("kind of lists", kind.list_kind, _KIND), ("plural", kind.plural, _LABEL)]
    names += [("singular", kind.singular, _LABEL)]
    names += [("short name", name, _LABEL) for name in kind.short_names]
    names += [("category", name, _LABEL) for name in kind.categories]
    names += [("version", version.name, _VERSION) for version in kind.versions]
    for what, text, form in names:
        if not form.fullmatch(text):
            raise CodegenError(kind.source, f"the API server would reject the {what} {text!r}")
    for version in kind.versions:
        try:
            _check_beside_schema(version)
        except ValueError as error:
            raise CodegenError(kind.source, f"the API server would reject {kind.name}: {error}") from None
    versions = [version.name for version in kind.versions]
    if len(set(versions)) < len(versions):
        raise CodegenError(kind.source, f"{kind.name} has a version twice: {', '.join(versions)}")
    if sum(version.storage for version in kind.versions) != 1:
        raise CodegenError(kind.source, f"exactly one version of {kind.name} must be the stored one")


def _check_beside_schema(version: VersionSource) -> None:
    """Raises ValueError, which names the field, for values that `@resource` and the server reject."""
    if not isinstance(version.served, bool):
        raise ValueError(f"served of version {version.name} must be true or false, not {version.served!r:.60}")
    warning: object = version.deprecated  # can be anything in the file
    if not isinstance(warning, bool | str) or (
        isinstance(warning, str) and not (len(warning) <= _LONGEST_WARNING and warning.isprintable())
    ):
        raise ValueError(
            f"deprecationWarning of version {version.name} must be one line of at most {_LONGEST_WARNING} characters"
        )
    titles = [column["name"] for column in version.columns]
    if len(set(titles)) < len(titles):
        raise ValueError(f"two columns have the same name: {', '.join(titles)}")
    for column in version.columns:
        Column(
            column["jsonPath"],
            type=column["type"],
            format=column.get("format"),
            priority=column.get("priority", 0),
            checked=False,
        )
    if version.scale is not None:
        scale = version.scale
        Scale(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath"))
    for path in version.selectable_fields:
        _check_selectable(version, path)


def _check_selectable(version: VersionSource, path: str) -> None:
    steps = parse_path(path)
    if steps[0].member == "metadata" or any(step.member is None for step in steps):
        raise ValueError(f"the selectable field {path} must not be in the metadata or in a list")
    if not any(leads_to(version.schema, path, type_) for type_ in ("string", "integer", "boolean")):
        raise ValueError(f"the selectable field {path} must lead to a string, an integer or a boolean")


def _versions(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the versions, also from old files with a single version."""
    versions = spec.get("versions")
    return list(versions) if versions else [{"name": spec["version"], "served": True, "storage": True}]


def _version(spec: Mapping[str, Any], version: Mapping[str, Any], *, old: bool) -> VersionSource:
    common = spec if old else {}
    columns = version.get("additionalPrinterColumns") or common.get("additionalPrinterColumns") or ()
    subresources = version.get("subresources") or common.get("subresources") or {}
    schema = (version.get("schema") or common.get("validation") or {}).get("openAPIV3Schema")
    if not schema:
        schema = {"type": "object", _ANYTHING: True}
    elif spec.get("preserveUnknownFields", old):
        schema = {"type": "object", _ANYTHING: True} | schema
    return VersionSource(
        name=str(version["name"]),
        schema=schema,
        served=version["served"],
        storage=version["storage"],
        deprecated=version.get("deprecationWarning") or bool(version.get("deprecated")),
        columns=[_column(column) for column in columns],
        selectable_fields=[field["jsonPath"] for field in version.get("selectableFields") or ()],
        has_status=subresources.get("status") is not None,
        scale=_scale(subresources.get("scale")),
    )


def _scale(scale: Mapping[str, Any] | None) -> dict[str, str] | None:
    if scale is None:
        return None
    paths = {name: scale[name] for name in ("specReplicasPath", "statusReplicasPath")}
    return paths | ({"labelSelectorPath": path} if (path := scale.get("labelSelectorPath")) else {})


def _column(column: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a column with the field names of v1."""
    made = {("jsonPath" if name == "JSONPath" else name): value for name, value in column.items() if value}
    return {"name": made["name"], "type": made["type"], "jsonPath": made["jsonPath"]} | made


def _normal(version: VersionSource, source: str, kind: str, descriptions: bool) -> VersionSource:
    check_structural(version.schema, source, f"{kind} {version.name}")
    check_field_names(version.schema, source, f"{kind} {version.name}")
    return replace(version, schema=normal_schema(version.schema, descriptions=descriptions))
