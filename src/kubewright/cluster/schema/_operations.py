"""The paths of OpenAPI documents: the operations of a resource, with their parameters.

Clients look up the kind of a path, and whether an operation has a parameter (`fieldValidation` of a PATCH). The
deprecated watch paths and proxy paths are omitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

__all__ = ["Operation", "Parameter", "PathItem", "path_items"]

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_LIST_PARAMETERS: Final = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
)
_DELETE_PARAMETERS: Final = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_WRITE_PARAMETERS: Final = ("dryRun", "fieldManager", "fieldValidation")
_TYPES: Final = {
    "allowWatchBookmarks": "boolean",
    "force": "boolean",
    "gracePeriodSeconds": "integer",
    "limit": "integer",
    "orphanDependents": "boolean",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}


class Parameter(NamedTuple):
    """A query or path parameter."""

    name: str
    location: str

    @property
    def type(self) -> str:
        """Returns its OpenAPI type."""
        return _TYPES.get(self.name, "string")


class Operation(NamedTuple):
    """The operation of a method. `body` and `answer` are definitions; an empty `body` means none."""

    method: str
    action: str
    parameters: tuple[Parameter, ...]
    body: str
    answer: str
    codes: tuple[int, ...]
    strategic: bool
    kind: dict[str, str]


class PathItem(NamedTuple):
    """A path and its operations."""

    path: str
    parameters: tuple[Parameter, ...]
    operations: list[Operation]


def path_items(
    group_version: str,
    plural: str,
    kind: str,
    *,
    namespaced: bool,
    verbs: Sequence[str],
    definitions: dict[str, str],
    subresources: Sequence[tuple[str, str, str, Sequence[str]]] = (),
    strategic: bool = True,
) -> Iterator[PathItem]:
    """Returns the paths of one resource.

    `definitions` contains the definition of each kind, including the list kind; `subresources` are name, kind, the
    kind's
    group version and verbs.
    """
    root = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
    where = f"{root}/namespaces/{{namespace}}/{plural}" if namespaced else f"{root}/{plural}"
    make = _Maker(_kind(group_version, kind), definitions.get(kind, ""), definitions, strategic)
    scope = (Parameter("namespace", "path"),) if namespaced else ()
    if namespaced and "list" in verbs:
        yield PathItem(f"{root}/{plural}", (), [make.operation("list")])
    collection = [make.operation(verb) for verb in ("list", "create", "deletecollection") if verb in verbs]
    if collection:
        yield PathItem(where, scope, collection)
    named = (Parameter("name", "path"), *scope)
    single = [make.operation(verb) for verb in ("get", "update", "patch", "delete") if verb in verbs]
    if single:
        yield PathItem(f"{where}/{{name}}", named, single)
    for name, its_kind, its_version, its_verbs in subresources:
        its = _Maker(
            _kind(its_version or group_version, its_kind), definitions.get(its_kind, ""), definitions, strategic
        )
        operations = [its.operation(verb) for verb in ("get", "create", "update", "patch") if verb in its_verbs]
        if operations:
            yield PathItem(f"{where}/{{name}}/{name}", named, operations)


def _kind(group_version: str, kind: str) -> dict[str, str]:
    group, _, version = group_version.rpartition("/")
    return {"group": group, "kind": kind, "version": version}


class _Maker:
    def __init__(self, kind: dict[str, str], definition: str, definitions: dict[str, str], strategic: bool) -> None:
        self._kind = kind
        self._definition = definition
        self._list = definitions.get(f"{kind['kind']}List", "")
        self._strategic = strategic

    def operation(self, verb: str) -> Operation:
        own = self._definition
        if verb == "get":
            return self._made("get", "get", (), "", own, (200,))
        if verb == "list":
            return self._made("get", "list", _LIST_PARAMETERS, "", self._list, (200,))
        if verb == "create":
            return self._made("post", "post", _WRITE_PARAMETERS, own, own, (200, 201, 202))
        if verb == "update":
            return self._made("put", "put", _WRITE_PARAMETERS, own, own, (200, 201))
        if verb == "patch":
            return self._made("patch", "patch", (*_WRITE_PARAMETERS, "force"), f"{_META}Patch", own, (200, 201))
        options, status = f"{_META}DeleteOptions", f"{_META}Status"
        if verb == "delete":
            return self._made("delete", "delete", _DELETE_PARAMETERS, options, status, (200, 202))
        parameters = sorted({*_DELETE_PARAMETERS, *_LIST_PARAMETERS} - {"allowWatchBookmarks", "watch"})
        return self._made("delete", "deletecollection", parameters, options, status, (200,))

    def _made(
        self, method: str, action: str, parameters: Sequence[str], body: str, answer: str, codes: tuple[int, ...]
    ) -> Operation:
        query = tuple(Parameter(name, "query") for name in parameters)
        return Operation(method, action, query, body, answer, codes, self._strategic, self._kind)
