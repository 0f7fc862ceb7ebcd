"""`CustomKind`: one version of a custom resource, and its definitions and paths in both documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import msgspec

from kubewright.cluster.openapi import protobuf
from kubewright.cluster.openapi._structural import DEFINITIONS, SCHEMAS, published_v2, published_v3

__all__ = ["CustomKind"]

_KIND: Final = "x-kubernetes-group-version-kind"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_SCALE: Final = "io.k8s.api.autoscaling.v1.Scale"
_MEDIA_TYPES: Final = ("application/json", "application/yaml")
_PATCH_TYPES: Final = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
_CODES: Final = {200: "OK", 201: "Created", 202: "Accepted"}
_LIST: Final = (
    "allowWatchBookmarks-HC2hJt-J",
    "continue-QfD61s0i",
    "fieldSelector-xIcQKXFG",
    "labelSelector-5Zw57w4C",
    "limit-1NfNmdNH",
    "resourceVersion-5WAnf1kx",
    "resourceVersionMatch-t8XhRHeC",
    "sendInitialEvents-rLXlEK_k",
    "shardSelector-Kgyki_3_",
    "timeoutSeconds-yvYezaOC",
    "watch-XNNPZGbK",
)
_DELETE: Final = (
    "dryRun",
    "gracePeriodSeconds--K5HaBOS",
    "ignoreStoreReadErrorWithClusterBreakingPotential-QbNkfIqj",
    "orphanDependents-uRB25kX5",
    "propagationPolicy-6jk3prlO",
)
_WRITE: Final = ("dryRun", "fieldManager-Qy4HdaTW", "fieldValidation")
_PATCH: Final = ("dryRun", "fieldManager-7c6nTn1T", "fieldValidation", "force-tOGGb0Yi")
_TYPES: Final = {
    "allowWatchBookmarks": "boolean",
    "force": "boolean",
    "gracePeriodSeconds": "integer",
    "ignoreStoreReadErrorWithClusterBreakingPotential": "boolean",
    "limit": "integer",
    "orphanDependents": "boolean",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
# Bodies that OpenAPI v2 shares under these names. A name is the parameter's, with a hash of its description.
_SHARED_BODIES: Final = {f"{_META}DeleteOptions": "body-2Y1dVQaQ", f"{_META}Patch": "body-78PwaGsr"}


class _Operation(msgspec.Struct, frozen=True):
    """An operation. `parameters` are names of shared parameters in OpenAPI v2; those without a hash are not shared."""

    method: str
    action: str
    verb: str
    parameters: tuple[str, ...]
    body: str
    result: str
    codes: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class CustomKind:
    """One version of a custom resource. `schema` is the openAPIV3Schema of its definition. Compared by identity."""

    group: str
    version: str
    kind: str
    list_kind: str
    plural: str
    namespaced: bool
    subresources: tuple[str, ...] = ()
    selectable: tuple[str, ...] = ()
    schema: dict[str, Any] | None = field(default=None, repr=False)

    @property
    def group_version(self) -> str:
        """The group version: `example.com/v1`."""
        return f"{self.group}/{self.version}"

    def _model(self, kind: str) -> str:
        """Returns the name of a definition: `com.example.v1.Foo`."""
        return ".".join([*reversed(self.group.split(".")), self.version, kind])

    # Encoded parts of documents: the members of the objects of paths and definitions

    @cached_property
    def json_v2(self) -> tuple[bytes, bytes]:
        """The paths and definitions in OpenAPI v2, as JSON."""
        return _members(self.paths_v2()), _members(self.definitions_v2())

    @cached_property
    def json_v3(self) -> tuple[bytes, bytes]:
        """The paths and definitions in OpenAPI v3, as JSON."""
        return _members(self.paths_v3()), _members(self.definitions_v3())

    @cached_property
    def protobuf_v2(self) -> bytes:
        """The paths and definitions in OpenAPI v2, as protobuf."""
        return protobuf.paths_v2(self.paths_v2()) + protobuf.definitions_v2(self.definitions_v2())

    # Definitions

    def definitions_v3(self) -> dict[str, Any]:
        """Returns the definitions of the kind and its list in OpenAPI v3."""
        source = self.schema
        own = {"type": "object"} if source is None else published_v3(source)
        return self._definitions(own, SCHEMAS)

    def definitions_v2(self) -> dict[str, Any]:
        """Returns the definitions of the kind and its list in OpenAPI v2."""
        source = self.schema
        own = {"type": "object"} if source is None else published_v2(source)
        return self._definitions(own, DEFINITIONS)

    def _definitions(self, own: dict[str, Any], prefix: str) -> dict[str, Any]:
        text, list_meta = {"type": "string"}, {"$ref": f"{prefix}{_META}ListMeta"}
        listed = {
            "description": f"{self.list_kind} is a list of {self.kind}",
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": text,
                "items": {"type": "array", "items": {"$ref": prefix + self._model(self.kind)}},
                "kind": text,
                "metadata": {"allOf": [list_meta]} if prefix == SCHEMAS else list_meta,
            },
        }
        fields = [{"fieldPath": path.removeprefix(".")} for path in self.selectable]
        more = {"x-kubernetes-selectable-fields": fields} if fields else {}
        return {
            self._model(kind): {
                **schema,
                _KIND: [{"group": self.group, "kind": kind, "version": self.version}],
                **more,
            }
            for kind, schema in ((self.kind, own), (self.list_kind, listed))
        }

    # Paths

    def paths_v3(self) -> dict[str, Any]:
        """Returns the paths in OpenAPI v3."""
        return {path: self._item(path, operations, v2=False) for path, operations in self._paths()}

    def paths_v2(self) -> dict[str, Any]:
        """Returns the paths in OpenAPI v2."""
        return {path: self._item(path, operations, v2=True) for path, operations in self._paths()}

    def _paths(self) -> Iterator[tuple[str, tuple[_Operation, ...]]]:
        own, status = self._model(self.kind), f"{_META}Status"
        listing = _Operation("get", "list", "list", _LIST, "", self._model(self.list_kind), (200,))
        root = f"/apis/{self.group_version}"
        if self.namespaced:
            yield f"{root}/{self.plural}", (listing,)
            root += "/namespaces/{namespace}"
        collection = f"{root}/{self.plural}"
        yield (
            collection,
            (
                listing,
                _Operation("post", "post", "create", _WRITE, own, own, (200, 201, 202)),
                _Operation("delete", "deletecollection", "deletecollection", _LIST, "", status, (200,)),
            ),
        )
        deletion = _Operation("delete", "delete", "delete", _DELETE, f"{_META}DeleteOptions", status, (200, 202))
        yield f"{collection}/{{name}}", (*_object_operations(own), deletion)
        for name in self.subresources:
            yield f"{collection}/{{name}}/{name}", _object_operations(_SCALE if name == "scale" else own)

    def _item(self, path: str, operations: tuple[_Operation, ...], *, v2: bool) -> dict[str, Any]:
        # Parameters that all operations have are those of the path.
        shared = set[str](operations[0].parameters).intersection(*(each.parameters for each in operations))
        names = {*shared, "pretty-tJGM1-ng"} | ({"namespace-vgWSWtn3"} if "{namespace}" in path else set())
        parameters = [_parameter(name, v2=v2) for name in sorted(names)]
        if "{name}" in path:
            parameters.insert(0, _parameter("name", v2=v2) | {"description": f"name of the {self.kind}"})
        made = {each.method: self._operation(path, each, shared, v2=v2) for each in operations}
        return {**made, "parameters": parameters}

    def _operation(self, path: str, operation: _Operation, shared: set[str], *, v2: bool) -> dict[str, Any]:
        sub = path.partition("{name}/")[2]
        schema = {"$ref": (DEFINITIONS if v2 else SCHEMAS) + operation.result}
        parameters = [_parameter(name, v2=v2) for name in operation.parameters if name not in shared]
        own: dict[str, Any] = {"tags": [self._tag], "description": self._description(operation.verb, sub)}
        own["operationId"] = self._operation_id(operation.verb, sub, everywhere=self._is_everywhere(path))
        if v2:
            if operation.body:
                parameters.insert(0, _body_v2(operation))
            consumes = _PATCH_TYPES if operation.verb == "patch" else _MEDIA_TYPES
            own |= {"consumes": list(consumes), "produces": list(_MEDIA_TYPES), "schemes": ["https"]}
            result: dict[str, Any] = {"schema": schema}
        else:
            if operation.body:
                own["requestBody"] = _body_v3(operation)
            result = {"content": {each: {"schema": schema} for each in _MEDIA_TYPES}}
        responses = {str(code): {"description": _CODES[code], **result} for code in operation.codes}
        return {
            **own,
            **({"parameters": parameters} if parameters else {}),
            "responses": {**responses, "401": {"description": "Unauthorized"}},
            "x-kubernetes-action": operation.action,
            _KIND: {"group": self.group, "version": self.version, "kind": self.kind},
        }

    def _is_everywhere(self, path: str) -> bool:
        return self.namespaced and "{namespace}" not in path

    @cached_property
    def _tag(self) -> str:
        return f"{_identifier(self._short_group)}_{_identifier(self.version)}"

    @property
    def _short_group(self) -> str:
        return self.group.removesuffix(".k8s.io")

    def _operation_id(self, verb: str, sub: str, *, everywhere: bool) -> str:
        named = f"{self.kind}ForAllNamespaces" if everywhere else self.kind + sub.title()
        if self.namespaced and not everywhere:
            named = f"Namespaced{named}"
        if verb == "deletecollection":
            verb, named = "delete", f"Collection{named}"
        prefix = verb + _identifier(self._short_group, capital=True) + _identifier(self.version, capital=True)
        return prefix + _identifier(named, capital=True)

    def _description(self, verb: str, sub: str) -> str:
        of = f" {sub} of" if sub else ""
        match verb:
            case "list":
                return f"list{of} objects of kind {self.kind}"
            case "read" | "replace":
                return f"{verb}{of} the specified {self.kind}"
            case "patch":
                return f"partially update{of} the specified {self.kind}"
            case "deletecollection":
                return f"delete collection of {self.kind}"
            case _:
                return f"{verb}{of}{_article(self.kind)}{self.kind}"


def _members(value: dict[str, Any]) -> bytes:
    return msgspec.json.encode(value)[1:-1]


def _object_operations(own: str) -> tuple[_Operation, ...]:
    return (
        _Operation("get", "get", "read", ("resourceVersion-5WAnf1kx",), "", own, (200,)),
        _Operation("put", "put", "replace", _WRITE, own, own, (200, 201)),
        _Operation("patch", "patch", "patch", _PATCH, f"{_META}Patch", own, (200,)),
    )


def _parameter(shared: str, *, v2: bool) -> dict[str, Any]:
    name, _, digest = shared.partition("-")
    if v2 and digest:
        return {"$ref": f"#/parameters/{shared}"}
    type_ = {"type": _TYPES.get(name, "string"), "uniqueItems": True}
    in_path = name in ("name", "namespace")
    place = {"in": "path", "required": True} if in_path else {"in": "query"}
    return {"name": name, **place, **(type_ if v2 else {"schema": type_})}


def _body_v2(operation: _Operation) -> dict[str, Any]:
    if shared := _SHARED_BODIES.get(operation.body):
        return {"$ref": f"#/parameters/{shared}"}
    return {"name": "body", "in": "body", "required": True, "schema": {"$ref": DEFINITIONS + operation.body}}


def _body_v3(operation: _Operation) -> dict[str, Any]:
    types = sorted(_PATCH_TYPES) if operation.verb == "patch" else _MEDIA_TYPES
    content = {each: {"schema": {"$ref": SCHEMAS + operation.body}} for each in types}
    return {"content": content} if operation.verb == "delete" else {"content": content, "required": True}


def _identifier(text: str, *, capital: bool = False) -> str:
    """Returns a name in camel case, as in operation ids: `scaled-group.example` becomes `scaledGroupExample`."""
    made = []
    for index, char in enumerate(text):
        if char.isalpha() or char == "_" or (index and char.isdigit()):
            made.append(char.upper() if capital else char)
            capital = False
        else:
            capital = True
    return "".join(made)


def _article(noun: str) -> str:
    if noun.endswith("s") and not noun.endswith("ss"):
        return " "  # plural
    return " an " if noun[0] in "aeiouAEIOU" else " a "
