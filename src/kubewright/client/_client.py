"""`Client`: the verbs of the Kubernetes API, for objects of any kind."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Literal, Self, TypeAlias, TypeVar

from kubewright.api import Object, Untyped, encode, info_of
from kubewright.client._discovery import ServerVersion
from kubewright.client._errors import Conflict, Invalid, Status
from kubewright.client._file_applies import FileApplies
from kubewright.client._load_config import load_config
from kubewright.client._patches import JsonPatch, Patch
from kubewright.client._requests import (
    APPLY_TYPE,
    JSON_TYPE,
    Selection,
    delete_options,
    query_of,
    selector_text,
    with_body,
)
from kubewright.client._streaming import Streaming
from kubewright.client.wire import (
    apply_body,
    changes,
    info_of_object,
    kept_object,
    object_name,
    request_body,
    type_name,
)

__all__ = ["Client", "Propagation"]

R = TypeVar("R", bound=Object)
Propagation: TypeAlias = Literal["Background", "Foreground", "Orphan"]


class Client(FileApplies, Streaming):
    """Sends requests to one API server with one identity.

    One client serves a whole program: it can be shared between tasks and keeps its connections open. Use it as `async
    with Client.connect() as client`, or `close` it. It belongs to the event loop in which it is first used; see
    `BlockingClient` for synchronous scripts.

    Namespaces: a verb for one object of a namespaced kind uses the given namespace, or the object's own, or the
    client's (`namespace`, from the kubeconfig's context). `list` and `watch` without a namespace mean all namespaces.

    Writes carry the client's field manager and are validated strictly: a field that the server does not know is an
    error and not dropped silently. Failures are `ApiError`s. To limit the time of a call, use `asyncio.timeout`.
    """

    @classmethod
    def connect(
        cls,
        *,
        kubeconfig: str | os.PathLike[str] | None = None,
        context: str | None = None,
        server: str | None = None,
        namespace: str | None = None,
    ) -> Self:
        """Returns a client for the cluster of the arguments, `KUBECONFIG`, the pod or `~/.kube/config`, in that order.

        Raises `ConfigError` if there is none. No request is sent. For more settings, use `Client(load_config(...),
        ...)`.
        """
        return cls(load_config(kubeconfig=kubeconfig, context=context, server=server, namespace=namespace))

    async def create(self, obj: R, *, field_manager: str | None = None, dry_run: bool = False) -> R:
        """Creates the object. Raises `AlreadyExists` if an object has that name."""
        info = info_of_object(obj)
        if obj.metadata.resource_version:
            raise ValueError(f"{obj} was read from a server: to create a copy, give it new metadata")
        request = self._for_kind(
            "POST",
            "create",
            info,
            self._namespace(info, obj.metadata.namespace),
            query=self._write_query(dry_run=dry_run, field_manager=field_manager),
        )
        request.name = obj.metadata.name
        return await self._object(type(obj), with_body(request, request_body(obj), repeatable=dry_run))

    async def update(self, obj: R, *, subresource: str | None = None, dry_run: bool = False) -> R:
        """Writes the changes of an object since it was read, and nothing else.

        Fields that the model does not know keep their values. Raises `Conflict` if another client has changed the
        object since then. If nothing was changed, no request is sent and the same object is returned.
        """
        operations = changes(obj, subresource)
        if not operations:
            return obj
        patch, namespace = JsonPatch(operations), obj.metadata.namespace or None
        return await self.patch(type(obj), object_name(obj), patch, namespace, subresource=subresource, dry_run=dry_run)

    async def update_status(self, obj: R, *, dry_run: bool = False) -> R:
        """Writes the changes of the status to the status subresource."""
        return await self.update(obj, subresource="status", dry_run=dry_run)

    async def replace(self, obj: R, *, subresource: str | None = None, dry_run: bool = False) -> R:
        """Writes the whole object (PUT). Fields that the model does not know are lost: prefer `update`."""
        info = info_of_object(obj)
        request = self._for_object(
            "PUT",
            "update",
            info,
            obj.metadata.namespace,
            object_name(obj),
            subresource=subresource,
            query=self._write_query(dry_run=dry_run),
        )
        return await self._object(type(obj), with_body(request, request_body(obj, subresource), repeatable=dry_run))

    async def patch(
        self,
        kind: type[R],
        name: str,
        patch: Patch,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> R:
        """Patches an object with a `JsonPatch`, `MergePatch` or `StrategicPatch`.

        Raises `Conflict` if the patch has a resourceVersion and the object has another one.
        """
        if not isinstance(patch, Patch):
            kinds = "a MergePatch, a JsonPatch or a StrategicPatch"
            raise TypeError(f"a patch must be {kinds}, such as MergePatch({{...}}), not {type_name(patch)}")
        request = self._for_object(
            "PATCH",
            "patch",
            info_of(kind),
            namespace,
            name,
            subresource=subresource,
            query=self._write_query(dry_run=dry_run),
        )
        body = encode(patch.body)
        try:
            return await self._object(kind, with_body(request, body, patch.content_type, repeatable=dry_run))
        except Invalid as error:
            # A patch for one version of an object fits only that version. If the server cannot even apply it, the
            # object has changed: for example, a list is shorter. That response, unlike a failed validation, has no
            # details.
            details = error.status.details
            if not patch.guarded or details is None or details.name or details.causes:
                raise
            message = "the object has changed since it was read; read it again and repeat the change"
            raise Conflict(Status(code=409, reason="Conflict", message=message), error.request) from error

    async def apply(
        self,
        obj: R,
        *,
        field_manager: str | None = None,
        force: bool = False,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> R:
        """Applies the object (server-side apply): sets these fields and creates the object if it does not exist.

        Every field that is not None is sent, also if it is 0, "" or empty. Fields that this manager applied before and
        now omits are removed. Raises `Conflict` if another manager owns a field, unless `force` takes it over.

        An object with `metadata.resource_version` is applied only to that version: raises `Conflict` if the object has
        another one. Without it, the apply works on any version.
        """
        query = self._write_query(dry_run=dry_run, field_manager=field_manager)
        if force:
            query.append(("force", "true"))
        request = self._for_object(
            "PATCH",
            "patch",
            info_of_object(obj),
            obj.metadata.namespace,
            object_name(obj),
            subresource=subresource,
            query=query,
        )
        body = apply_body(obj, subresource)
        return await self._object(type(obj), with_body(request, body, APPLY_TYPE, repeatable=True))

    async def delete(
        self,
        target: type[Object] | Object,
        name: str | None = None,
        namespace: str | None = None,
        *,
        propagation: Propagation | None = None,
        grace_period_seconds: int | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
    ) -> Object | None:
        """Deletes an object: `delete(core.Pod, "web")`, or `delete(pod)`.

        Returns None if it is gone, or the object in its current state if finalizers or a grace period keep it. An
        object that was read deletes only itself and not a new object of the same name (raises `Conflict`); with a kind
        and a name, `uid` and `resource_version` do the same.
        """
        if isinstance(target, type):
            kind = target
        else:
            kind, name, namespace = type(target), object_name(target), target.metadata.namespace
            uid = uid or target.metadata.uid or None
        request = self._for_object("DELETE", "delete", info_of(kind), namespace, name or "")
        options = delete_options(propagation, grace_period_seconds, uid, resource_version, dry_run=dry_run)
        answer = await self._sender.read(with_body(request, encode(options), repeatable=dry_run))
        return kept_object(kind, answer)

    async def delete_collection(
        self,
        kind: type[Object],
        namespace: str | None = None,
        *,
        labels: Selection | None = None,
        fields: Selection | None = None,
        propagation: Propagation | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """Deletes all matching objects in one namespace. Default: the client's namespace.

        The server has a time limit of one minute. If it cannot delete all objects within that, it deletes some and
        raises `Timeout`: call it again for the rest.
        """
        info = info_of(kind)
        query = query_of(labelSelector=selector_text(labels), fieldSelector=selector_text(fields))
        request = self._for_kind("DELETE", "deletecollection", info, self._namespace(info, namespace), query=query)
        options = delete_options(propagation, grace_period_seconds, dry_run=dry_run)
        await self._sender.read(with_body(request, encode(options), repeatable=dry_run))

    # Other requests

    async def kind(self, api_version: str, kind: str) -> type[Untyped]:
        """Returns the class for untyped objects of a kind that the server serves. Raises `NotFound` otherwise."""
        info = await self.discovery.find(api_version, kind)
        return Untyped.kind_of(
            info.api_version,
            info.kind,
            plural=info.plural,
            singular=info.singular,
            namespaced=info.namespaced,
            subresources=info.subresources,
        )

    async def server_version(self) -> ServerVersion:
        """Returns the version of the server."""
        return await self.discovery.server_version()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON_TYPE,
        accept: str = JSON_TYPE,
    ) -> bytes:
        """Sends any request, for endpoints without a method here. `body` is bytes, or an object to send as JSON."""
        request = self._for_path(method, path, query, accept)
        if body is not None:
            content = bytes(body) if isinstance(body, bytes | bytearray) else encode(body)
            with_body(request, content, content_type)
        return await self._sender.read(request)

    async def stream(
        self, path: str, *, query: Mapping[str, str] | None = None, accept: str = "*/*"
    ) -> AsyncIterator[bytes]:
        """Yields the body of a GET as it arrives."""
        request = self._for_path("GET", path, query, accept)
        request.stream, request.timeout = True, None
        response = await self._sender.open(request)
        try:
            async for chunk in response.chunks():
                yield chunk
        finally:
            response.close()

    async def close(self) -> None:
        """Closes all connections, unless they belong to the client that this one was created from."""
        if self._transport is not None and self._owner is None:
            await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
