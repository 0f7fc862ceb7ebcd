"""Reads kinds from the OpenAPI v3 document of a live cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubewright.client import ServedResource
from kubewright.codegen._definition import KindSource, VersionSource
from kubewright.codegen._errors import CodegenError
from kubewright.codegen._normal import normal_schema
from kubewright.codegen._structure import check_structural
from kubewright.regex import QUANTITY

__all__ = ["kind_from_openapi"]

_ANYTHING: Final = {"x-kubernetes-preserve-unknown-fields": True}
_KIND: Final = "x-kubernetes-group-version-kind"
_SELECTABLE: Final = "x-kubernetes-selectable-fields"
_LOCAL: Final = "#/components/schemas/"
# References in the document that a definition expresses by extensions.
_KNOWN: Final[Mapping[str, Mapping[str, Any]]] = {
    ".api.resource.Quantity": {"x-kubernetes-int-or-string": True, "pattern": QUANTITY},
    ".util.intstr.IntOrString": {"x-kubernetes-int-or-string": True},
    ".runtime.RawExtension": {"type": "object", **_ANYTHING},
}


def kind_from_openapi(
    served: Sequence[ServedResource],
    documents: Mapping[str, Mapping[str, Any]],
    source: str,
    *,
    descriptions: bool = True,
) -> KindSource:
    """Returns a kind from its served versions, the preferred one first, and their documents. Raises CodegenError.

    The document does not contain the stored version; the preferred one is used.
    """
    first = served[0].info
    versions = []
    for resource in served:
        info = resource.info
        schema = _Inlining(documents[info.version]).kind(info.group, info.version, info.kind, source)
        check_structural(schema, source, f"{info.kind} {info.version}")
        versions.append(
            VersionSource(
                name=info.version,
                schema=normal_schema(schema, descriptions=descriptions),
                storage=info is first,
                selectable_fields=[f".{field['fieldPath']}" for field in schema.get(_SELECTABLE, ())],
                has_status="status" in info.subresources,
            )
        )
    return KindSource(
        source=source,
        group=first.group,
        kind=first.kind,
        plural=first.plural,
        singular=first.singular,
        list_kind=f"{first.kind}List",
        namespaced=first.namespaced,
        short_names=served[0].short_names,
        categories=served[0].categories,
        approval="unapproved, as the cluster serves it" if first.group.endswith("k8s.io") else None,
        versions=versions,
    )


class _Inlining:
    """Replaces references in the document by their schemas. A recursive schema becomes any JSON."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._schemas: Mapping[str, Any] = document.get("components", {}).get("schemas", {})

    def kind(self, group: str, version: str, kind: str, source: str) -> dict[str, Any]:
        wanted = {"group": group, "version": version, "kind": kind}
        for name, schema in self._schemas.items():
            if wanted in schema.get(_KIND, ()):
                made = self._node(schema, (name,))
                made.setdefault("properties", {})["metadata"] = {"type": "object"}
                return made
        raise CodegenError(source, f"its OpenAPI document has no schema for {kind} of {group}/{version}")

    def _node(self, node: Mapping[str, Any], seen: tuple[str, ...]) -> dict[str, Any]:
        reference = _reference(node)
        if reference is not None:
            beside = {name: value for name, value in node.items() if name in ("description", "nullable", "default")}
            return self._referred(reference, seen) | beside
        made = {name: value for name, value in node.items() if name != _KIND}
        if "properties" in made:
            made["properties"] = {name: self._node(below, seen) for name, below in made["properties"].items()}
        for name in ("items", "additionalProperties"):
            if isinstance(made.get(name), Mapping):
                made[name] = self._node(made[name], seen)
        if "type" not in made and not made.get("x-kubernetes-int-or-string"):
            made |= _ANYTHING
        return made

    def _referred(self, name: str, seen: tuple[str, ...]) -> dict[str, Any]:
        for end, schema in _KNOWN.items():
            if name.endswith(end):
                return dict(schema)
        if name in seen or name not in self._schemas:
            return dict(_ANYTHING)
        return self._node(self._schemas[name], (*seen, name))


def _reference(node: Mapping[str, Any]) -> str | None:
    """Returns the name that a schema refers to, directly or in an `allOf` with one element."""
    one = node["allOf"][0] if len(node.get("allOf") or ()) == 1 else node
    reference = one.get("$ref") if isinstance(one, Mapping) else None
    return str(reference).removeprefix(_LOCAL) if reference else None
