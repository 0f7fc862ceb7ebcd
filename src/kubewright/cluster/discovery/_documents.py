"""Responses for paths that are not resources: discovery, OpenAPI, version, health."""

from __future__ import annotations

from typing import Any, Final

from kubewright.client import Request
from kubewright.cluster._state import State
from kubewright.cluster.discovery._openapi import openapi_response
from kubewright.cluster.machinery._failures import PlainFailure, method_not_allowed, no_such_resource, unsupported
from kubewright.cluster.machinery._resources import JSONObject, ResourceType, Subresource
from kubewright.cluster.machinery._responses import ApiResponse, encode
from kubewright.cluster.machinery._unsupported import REFUSED_PAGES
from kubewright.cluster.openapi import OpenApiDocuments
from kubewright.cluster.output._format import check_document
from kubewright.cluster.registry._builtin_resources import group_order, server_version

__all__ = ["Documents"]

_HEALTH: Final = ("/healthz", "/livez", "/readyz")
_AGGREGATED: Final = "as=APIGroupDiscoveryList"


class Documents:
    """Answers requests for paths that are not resources. Documents are cached until the resources change."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._written: dict[tuple[str, str], bytes] = {}
        self._generation = -1
        self._openapi = OpenApiDocuments(lambda: state.custom_kinds(), state.clock.now)

    async def respond(self, request: Request) -> ApiResponse:
        """Returns the document at a path."""
        path = request.path.rstrip("/") or "/"
        if request.method not in ("GET", "HEAD"):
            raise method_not_allowed() if path.startswith("/api") else PlainFailure(405, "405 method not allowed\n")
        if reason := REFUSED_PAGES.get("/" + path.split("/")[1]):
            raise unsupported(reason)
        if path.startswith(_HEALTH):
            return self._health(path, dict(request.query))
        if self._generation != self._state.types.generation:
            self._written.clear()
            self._generation = self._state.types.generation
        accept = next((value for name, value in request.headers.items() if name.lower() == "accept"), "")
        if path == "/version":
            return ApiResponse(encode(server_version()))
        if path.startswith("/openapi"):
            return await openapi_response(self._openapi, request, path)
        if path in ("/api", "/apis") and _AGGREGATED in accept and "v=v2" in accept:
            version = "v2beta1" if "v=v2beta1" in accept and "v=v2;" not in accept.replace("v=v2beta1;", "") else "v2"
            kind = f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
            body = self._kept(path, version, lambda: _aggregated(self._state, path, version))
            return ApiResponse(body, content_type=kind)
        if path.startswith("/api"):
            check_document(accept)
        return ApiResponse(self._kept(path, "", lambda: self._plain(path)))

    def _kept(self, path: str, form: str, make: Any) -> bytes:
        key = (path, form)
        if key not in self._written:
            self._written[key] = encode(make())
        return self._written[key]

    def _plain(self, path: str) -> JSONObject:
        groups = _groups(self._state)
        if path == "/":
            return {"paths": _paths(self._state)}
        if path == "/api":
            addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}]
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}
        if path == "/apis":
            named = [_group(name, versions) for name, versions in groups.items() if name]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": named}
        parts = path.split("/")
        if parts[1] == "api" and len(parts) == 3 and parts[2] in groups[""]:
            return _resources(groups[""][parts[2]], parts[2])
        if parts[1] == "apis" and len(parts) in (3, 4) and parts[2] in groups:
            versions = groups[parts[2]]
            if len(parts) == 3:
                return {"kind": "APIGroup", "apiVersion": "v1", **_group(parts[2], versions)}
            if parts[3] in versions:
                return _resources(versions[parts[3]], f"{parts[2]}/{parts[3]}")
            raise no_such_resource()
        raise PlainFailure(404, "404 page not found\n")

    def _health(self, path: str, query: dict[str, str]) -> ApiResponse:
        check = path.count("/") > 1 and path.split("/")[2]
        if check and check not in ("ping", "etcd", "log"):
            raise PlainFailure(404, "404 page not found\n")
        text = "ok"
        if "verbose" in query:
            text = f"[+]ping ok\n{path.split('/')[1]} check passed\n"
        return ApiResponse(text.encode(), content_type="text/plain; charset=utf-8")


def _groups(state: State) -> dict[str, dict[str, list[ResourceType]]]:
    """Returns the resources by group and version: built-in groups in the real server's order, then others by name."""
    order = {group_version: index for index, group_version in enumerate(group_order())}
    types = sorted(
        state.types, key=lambda type_: (order.get(type_.api_version, len(order)), _rank(type_), type_.plural)
    )
    groups: dict[str, dict[str, list[ResourceType]]] = {}
    for type_ in types:
        groups.setdefault(type_.group, {}).setdefault(type_.version, []).append(type_)
    return groups


def _rank(type_: ResourceType) -> tuple[Any, ...]:
    """Returns the sort key of a custom group's version: stable ones first, newest first."""
    import re

    found = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", type_.version)
    if found is None:
        return (type_.group, 3, 0, 0, type_.version)
    stage = {None: 0, "beta": 1, "alpha": 2}[found[2]]
    return (type_.group, stage, -int(found[1]), -int(found[3] or 0), "")


def _group(name: str, versions: dict[str, list[ResourceType]]) -> JSONObject:
    named = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": named, "preferredVersion": named[0]}


def _paths(state: State) -> list[str]:
    paths = ["/.well-known/openid-configuration", "/api", "/api/v1", "/apis"]
    for group, versions in _groups(state).items():
        if group:
            paths += [f"/apis/{group}", *(f"/apis/{group}/{version}" for version in versions)]
    fixed = ["/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]
    return [path for path in paths if not path.startswith("/.well")] + fixed


def _resources(types: list[ResourceType], group_version: str) -> JSONObject:
    listed = []
    for type_ in types:
        listed.append(_resource(type_))
        for sub in _in_order(type_):
            entry: JSONObject = {
                "name": f"{type_.plural}/{sub.name}",
                "singularName": "",
                "namespaced": type_.namespaced,
            }
            if sub.group or (sub.version and sub.version != type_.version):
                entry |= {"group": sub.group, "version": sub.version}
            entry |= {"kind": sub.kind or type_.kind, "verbs": list(sub.verbs)}
            listed.append(entry)
    made: JSONObject = {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": listed,
    }
    if group_version == "v1":
        del made["apiVersion"]
    return made


def _subresources(type_: ResourceType) -> list[Subresource]:
    """Yields subresources in the real server's order: by name; those of custom resources as registered."""
    found = list(type_.subresources.values())
    return found if type_.custom else sorted(found, key=lambda each: each.name)


def _resource(type_: ResourceType) -> JSONObject:
    entry: JSONObject = {
        "name": type_.plural,
        "singularName": type_.singular,
        "namespaced": type_.namespaced,
        "kind": type_.kind,
        "verbs": list(type_.verbs),
    }
    if type_.short_names:
        entry["shortNames"] = list(type_.short_names)
    if type_.categories:
        entry["categories"] = list(type_.categories)
    if type_.storage_version_hash:
        entry["storageVersionHash"] = type_.storage_version_hash
    return entry


def _aggregated(state: State, path: str, version: str) -> JSONObject:
    items = []
    for group, versions in _groups(state).items():
        if bool(group) != (path == "/apis"):
            continue
        metadata: JSONObject = {"name": group} if group else {}
        shown = [
            {"version": name, "resources": [_discovered(type_) for type_ in types], "freshness": "Current"}
            for name, types in versions.items()
        ]
        items.append({"metadata": metadata, "versions": shown})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": items,
    }


def _discovered(type_: ResourceType) -> JSONObject:
    # The real server omits group and version if they are those of the resource, except for custom resources.
    own: JSONObject = {"group": type_.group, "version": type_.version} if type_.custom else {"group": "", "version": ""}
    entry: JSONObject = {
        "resource": type_.plural,
        "responseKind": {**own, "kind": type_.kind},
        "scope": "Namespaced" if type_.namespaced else "Cluster",
        "singularResource": type_.singular,
        "verbs": list(type_.verbs),
    }
    if type_.short_names:
        entry["shortNames"] = list(type_.short_names)
    if type_.categories:
        entry["categories"] = list(type_.categories)
    if type_.subresources:
        entry["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": {"group": sub.group, "version": sub.version, "kind": sub.kind}
                if sub.group
                else {**own, "kind": sub.kind or type_.kind},
                "verbs": list(sub.verbs),
            }
            for sub in _in_order(type_)
        ]
    return entry


def _in_order(type_: ResourceType) -> list[Subresource]:
    """Returns subresources in order: sorted for built-in kinds, status and scale for CRDs."""
    subresources = list(type_.subresources.values())
    return subresources if type_.custom else sorted(subresources, key=lambda each: each.name)
