"""`Actor`: a user or another client, who sends plain JSON."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubewright.client import Request, Response, Transport
from kubewright.cluster import Cluster, User

__all__ = ["ACTORS", "OPERATOR", "STANDBY", "Actor", "Refused", "collection_path", "type_of_kind"]


OPERATOR: Final = "explored-operator"
"""The user of the operator."""
STANDBY: Final = "explored-standby"
"""The user of its second replica."""
ACTORS: Final = {OPERATOR: "operator", STANDBY: "operator", "explore-user": "user", "explore-other": "other"}
"""Names for the writers of a run, by user."""


class Refused(Exception):
    """The server refused a request of a user. The message is the server's."""


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
        await self._send("create", "POST", path, obj)

    async def apply(self, obj: dict[str, Any]) -> None:
        """Creates an object, or merges its fields into the one that exists. Raises `Refused`."""
        type_ = type_of_kind(self._cluster, obj["apiVersion"], obj["kind"])
        metadata = obj["metadata"]
        path = f"{collection_path(type_, metadata.get('namespace') or 'default')}/{metadata['name']}"
        try:
            await self._send("patch", "PATCH", path, obj)
        except Refused as error:
            if not str(error).startswith("404"):
                raise
            await self.create(obj)

    async def patch(self, resource: str, namespace: str, name: str, patch: dict[str, Any]) -> None:
        """Applies a merge patch. Raises `Refused`."""
        await self._send("patch", "PATCH", self._path(resource, namespace, name), patch)

    async def json_patch(self, resource: str, namespace: str, name: str, patch: list[dict[str, Any]]) -> None:
        """Applies a JSON Patch. Raises `Refused`."""
        await self._send("patch", "PATCH", self._path(resource, namespace, name), patch)

    async def restore(self, resource: str, obj: dict[str, Any]) -> None:
        """Creates an object, or replaces its content and its status. Raises `Refused`."""
        metadata = obj["metadata"]
        path = self._path(resource, metadata.get("namespace", ""), metadata["name"])
        try:
            await self._send("get", "GET", path, None)
        except Refused:
            plain = {name: value for name, value in metadata.items() if name not in ("uid", "resourceVersion")}
            await self._send("create", "POST", path.rpartition("/")[0], {**obj, "metadata": plain})
        for subresource in ("", "/status") if "status" in obj and "." in resource.partition(".")[2] else ("",):
            current = msgspec.json.decode(await (await self._send("get", "GET", path, None)).read())
            changing = {name: current["metadata"][name] for name in ("uid", "resourceVersion")}
            types = {name: current[name] for name in ("apiVersion", "kind")}
            changed = {**obj, **types, "metadata": {**metadata, **changing}}
            await self._send("update", "PUT", f"{path}{subresource}", changed)

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

    async def _send(self, verb: str, method: str, path: str, body: object) -> Response:
        content = "application/json"
        if method == "PATCH":
            content = "application/json-patch+json" if isinstance(body, list) else "application/merge-patch+json"
        response = await self._transport.send(
            Request(
                method=method,
                path=path,
                headers={"Content-Type": content, "Accept": "application/json"},
                body=None if body is None else msgspec.json.encode(body),
                query=[("fieldManager", f"explore-{self._name}")] if method != "DELETE" else [],
                verb=verb,
            )
        )
        if response.status >= 300:
            status = msgspec.json.decode(await response.read())
            raise Refused(f"{response.status}: {status.get('message', '')}")
        return response
