"""`Actor`: a user or another writer, and whose request is being served."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from kubewright.client import Request, Response, Transport
from kubewright.cluster import Cluster, User

__all__ = ["ACTING", "Acting", "Actor", "Refused", "address_of", "collection_path", "type_of_kind"]


@dataclass(slots=True)
class Acting:
    """The request that is being served, for the recorder."""

    actor: str
    verb: str
    resource: str
    namespace: str
    name: str
    number: int = 0


ACTING: Final[ContextVar[Acting | None]] = ContextVar("kubewright-explore-acting", default=None)


class Refused(Exception):
    """The server refused a request of a user. The message is the server's."""


def address_of(path: str) -> tuple[str, str, str, str]:
    """Returns resource with group, namespace, name and subresource of a request path; empty where there is none.

    >>> address_of("/apis/apps/v1/namespaces/default/deployments/web/status")
    ('deployments.apps', 'default', 'web', 'status')
    >>> address_of("/api/v1/namespaces/default")
    ('namespaces', '', 'default', '')
    """
    parts = path.strip("/").split("/")
    if parts[0] == "api":
        group, rest = "", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, rest = parts[1], parts[3:]
    else:
        return "", "", "", ""
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    resource, name, subresource = (*rest, "", "")[:3]
    return (f"{resource}.{group}" if group else resource), namespace, name, subresource


def type_of_kind(cluster: Cluster, api_version: str, kind: str) -> Any:
    """Returns the resource type of a kind. Raises `Refused` if the cluster does not serve it."""
    for type_ in cluster.state.types:
        if type_.kind == kind and type_.api_version == api_version:
            return type_
    raise Refused(f"the cluster does not serve {kind} of {api_version}")


def collection_path(type_: Any, namespace: str) -> str:
    """Returns the path of the objects of a resource type."""
    root = f"/apis/{type_.api_version}" if type_.group else f"/api/{type_.version}"
    return f"{root}/namespaces/{namespace}/{type_.plural}" if type_.namespaced else f"{root}/{type_.plural}"


class Actor:
    """A client that sends plain JSON, under a name that the recorder shows."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster = cluster
        self._name = name
        self._transport: Transport = cluster.transport(User(f"explore-{name}", ("system:masters",)))

    async def create(self, obj: dict[str, Any]) -> None:
        """Creates an object. Raises `Refused`."""
        type_ = type_of_kind(self._cluster, obj["apiVersion"], obj["kind"])
        metadata = obj["metadata"]
        path = collection_path(type_, metadata.get("namespace") or "default")
        await self._send("create", "POST", path, obj, name=metadata.get("name", ""))

    async def patch(self, resource: str, namespace: str, name: str, patch: dict[str, Any]) -> None:
        """Applies a merge patch. Raises `Refused`."""
        await self._send("patch", "PATCH", self._path(resource, namespace, name), patch)

    async def json_patch(self, resource: str, namespace: str, name: str, patch: list[dict[str, Any]]) -> None:
        """Applies a JSON Patch. Raises `Refused`."""
        await self._send("patch", "PATCH", self._path(resource, namespace, name), patch)

    async def delete(self, resource: str, namespace: str, name: str) -> None:
        """Deletes an object. Raises `Refused`."""
        await self._send("delete", "DELETE", self._path(resource, namespace, name), None)

    async def get(self, resource: str, namespace: str, name: str) -> dict[str, Any]:
        """Returns an object. Raises `Refused`."""
        response = await self._send("get", "GET", self._path(resource, namespace, name), None)
        found: dict[str, Any] = msgspec.json.decode(await response.read())
        return found

    def _path(self, resource: str, namespace: str, name: str) -> str:
        for type_ in self._cluster.state.types:
            if type_.qualified == resource:
                return f"{collection_path(type_, namespace)}/{name}"
        raise Refused(f"the cluster does not serve {resource}")

    async def _send(self, verb: str, method: str, path: str, body: object, *, name: str = "") -> Response:
        content = "application/json"
        if method == "PATCH":
            content = "application/json-patch+json" if isinstance(body, list) else "application/merge-patch+json"
        resource, namespace, found, _ = address_of(path)
        token = ACTING.set(Acting(self._name, verb, resource, namespace, found or name))
        try:
            response = await self._transport.send(
                Request(
                    method=method,
                    path=path,
                    headers={"Content-Type": content, "Accept": "application/json"},
                    body=None if body is None else msgspec.json.encode(body),
                    query=[("fieldManager", f"explore-{self._name}")] if method != "DELETE" else [],
                    verb=verb,
                    resource=resource,
                )
            )
        finally:
            ACTING.reset(token)
        if response.status >= 300:
            status = msgspec.json.decode(await response.read())
            raise Refused(f"{response.status}: {status.get('message', '')}")
        return response
