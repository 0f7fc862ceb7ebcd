"""OpenAPI v3 documents, one for each group version, as the server serves them at /openapi/v3.

kubectl reads kinds and fields (explain), merge keys (client-side apply) and the parameters of PATCH from them.
Descriptions of built-in kinds are omitted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from kubewright.cluster.schema._builtin import (
    builtin_group_versions,
    builtin_resources,
    definition,
    definition_names,
    kinds,
    version,
)
from kubewright.cluster.schema._custom import custom_openapi
from kubewright.cluster.schema._operations import Operation, Parameter, PathItem, path_items

__all__ = ["CustomKind", "custom_definitions", "items_of", "openapi_v3", "openapi_v3_paths", "served"]

_PREFIX: Final = "#/components/schemas/"
_LIST_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
_PATCHES: Final = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_SUB_VERBS: Final = ("get", "patch", "update")
_BUILT_IN: Final = {"title": "Kubernetes", "version": "unversioned"}
_CUSTOM: Final = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_CUSTOM_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update")


@dataclass(frozen=True, kw_only=True)
class CustomKind:
    """One version of a custom resource. `schema` is the openAPIV3Schema of its definition, or None."""

    group: str
    version: str
    kind: str
    list_kind: str
    plural: str
    namespaced: bool
    subresources: tuple[str, ...] = ()
    schema: dict[str, Any] | None = field(default=None, hash=False)

    @property
    def group_version(self) -> str:
        """Returns the group version, such as `example.com/v1`."""
        return f"{self.group}/{self.version}"

    @property
    def definition(self) -> str:
        """Returns the name of its definition in documents: `com.example.v1.Foo`."""
        return ".".join([*reversed(self.group.split(".")), self.version, self.kind])


def openapi_v3_paths(custom: Iterable[CustomKind] = ()) -> dict[str, str]:
    """Returns the available documents, `apis/apps/v1`, each with a digest of its content."""
    added: dict[str, list[CustomKind]] = {}
    for each in custom:
        added.setdefault(each.group_version, []).append(each)
    every = dict.fromkeys([*builtin_group_versions(), *added])
    return {f"apis/{each}" if "/" in each else f"api/{each}": _digest(each, added.get(each, ())) for each in every}


def _digest(group_version: str, custom: Sequence[CustomKind]) -> str:
    content = [version(), group_version, [msgspec.to_builtins(each) for each in custom]]
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest().upper()


def openapi_v3(group_version: str, custom: Iterable[CustomKind] = ()) -> dict[str, Any] | None:
    """Returns the document of a group version; None if it does not exist."""
    added = [each for each in custom if each.group_version == group_version]
    names = definition_names(group_version)
    if not names and not added:
        return None
    items = [*items_of(group_version, added)]
    schemas = {name: served(definition(name)) for name in names}
    for each in added:
        schemas |= custom_definitions(each)
    for name in _referred(
        schemas, (name for item in items for each in item.operations for name in (each.body, each.answer))
    ):
        schemas.setdefault(name, served(definition(name)))
    return {
        "openapi": "3.0.0",
        "info": _BUILT_IN if names else _CUSTOM,
        "paths": {item.path: _path(item) for item in items},
        "components": {"schemas": dict(sorted(schemas.items()))},
    }


def items_of(group_version: str, custom: Iterable[CustomKind]) -> Iterator[PathItem]:
    """Returns the paths of a group version."""
    names = kinds(group_version)
    for facts in builtin_resources(group_version):
        subresources = [(sub.name, sub.kind, sub.group_version, sub.verbs) for sub in facts.subresources]
        also = {sub.kind: kinds(sub.group_version).get(sub.kind, "") for sub in facts.subresources if sub.group_version}
        yield from path_items(
            group_version,
            facts.plural,
            facts.kind,
            namespaced=facts.namespaced,
            verbs=facts.verbs,
            definitions=names | also,
            subresources=subresources,
        )
    for each in custom:
        scale = kinds("autoscaling/v1")["Scale"]
        own = {each.kind: each.definition, f"{each.kind}List": f"{each.definition}List", "Scale": scale}
        yield from path_items(
            group_version,
            each.plural,
            each.kind,
            namespaced=each.namespaced,
            verbs=_CUSTOM_VERBS,
            definitions=own,
            subresources=[
                (
                    name,
                    "Scale" if name == "scale" else each.kind,
                    "autoscaling/v1" if name == "scale" else "",
                    _SUB_VERBS,
                )
                for name in each.subresources
            ],
            strategic=False,
        )


def custom_definitions(each: CustomKind) -> dict[str, Any]:
    """Returns the definitions of a custom kind and its list."""
    kind = {"group": each.group, "kind": each.kind, "version": each.version}
    listed = {"group": each.group, "kind": each.list_kind, "version": each.version}
    text = {"type": "string"}
    return {
        each.definition: custom_openapi(each.schema) | {"x-kubernetes-group-version-kind": [kind]},
        f"{each.definition}List": {
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": text,
                "items": {"type": "array", "items": {"allOf": [{"$ref": _PREFIX + each.definition}]}},
                "kind": text,
                "metadata": {"allOf": [{"$ref": _PREFIX + _LIST_META}]},
            },
            "x-kubernetes-group-version-kind": [listed],
        },
    }


def served(source: dict[str, Any]) -> dict[str, Any]:
    """Returns a definition without our extensions."""
    return {key: value for key, value in source.items() if key != "x-go"}


def _referred(schemas: dict[str, Any], more: Iterable[str]) -> list[str]:
    """Returns the built-in definitions that these schemas refer to, directly or indirectly."""
    found: dict[str, None] = {}
    waiting = [*_references(list(schemas.values())), *(name for name in more if name)]
    while waiting:
        name = waiting.pop()
        if name not in found and name not in schemas:
            found[name] = None
            waiting.extend(_references(definition(name)))
    return list(found)


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(reference := value.get("$ref"), str):
            yield reference.removeprefix(_PREFIX)
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def _path(item: PathItem) -> dict[str, Any]:
    result: dict[str, Any] = {operation.method: _operation(operation) for operation in item.operations}
    return result | {"parameters": [_parameter(each) for each in (*item.parameters, Parameter("pretty", "query"))]}


def _operation(operation: Operation) -> dict[str, Any]:
    result: dict[str, Any] = {"parameters": [_parameter(each) for each in operation.parameters]}
    if operation.body:
        content = {"schema": {"$ref": _PREFIX + operation.body}}
        if operation.action == "patch":
            strategic = ("application/strategic-merge-patch+json",) if operation.strategic else ()
            result["requestBody"] = {"content": dict.fromkeys((*_PATCHES, *strategic), content), "required": True}
        else:
            result["requestBody"] = {"content": {"*/*": content}}
    answer = {"application/json": {"schema": {"$ref": _PREFIX + operation.answer}}} if operation.answer else {}
    result["responses"] = {str(code): {"description": "OK", "content": answer} for code in operation.codes}
    return result | {
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.kind,
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    required = {"required": True} if parameter.location == "path" else {}
    return {
        "name": parameter.name,
        "in": parameter.location,
        **required,
        "schema": {"type": parameter.type, "uniqueItems": True},
    }
