"""`Client`: the verbs of the Kubernetes API, for objects of any kind."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Literal, Self, TypeAlias, TypeVar

from kubewright.api import Object, Untyped, encode, info_of
from kubewright.client._discovery import ServerVersion
from kubewright.client._errors import Conflict, Invalid, Status
from kubewright.client._load_config import load_config
from kubewright.client._patches import JsonPatch, Patch
from kubewright.client._reads import Reads
from kubewright.client._requests import JSON_TYPE, Selection, delete_options, query_of, selector_text, with_body
from kubewright.client._subresources import Subresources
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

APPLY_TYPE = "application/apply-patch+yaml"  # JSON is YAML


class Client(Reads, Subresources):
    """Talks to one API server with one identity.

    One client serves a whole program: it is cheap to share between tasks and keeps its connections open. Use it as
    `async with Client.connect() as client`, or `close` it. It belongs to the event loop in which it is first used; see
    `BlockingClient` for plain scripts.

    Namespaces: a verb for one object of a namespaced kind uses the namespace it is given, or the object's own, or the
    client's (`namespace`, from the kubeconfig's context). `list` and `watch` without a namespace mean all of them.

    Writes carry the client's field manager and are validated strictly: a field that the server does not know is an
    error, not a silent loss. Failures are `ApiError`s. To limit the time of a call, use `asyncio.timeout`.
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
        """A client for the cluster that the arguments, `KUBECONFIG`, the pod or `~/.kube/config` name, in that order.

        Raises `ConfigError` when there is none. Nothing is sent yet. For more settings than these, use
        `Client(load_config(...), ...)`.
        """
        return cls(load_config(kubeconfig=kubeconfig, context=context, server=server, namespace=namespace))

    async def create(self, obj: R, *, field_manager: str | None = None, dry_run: bool = False) -> R:
        """Makes the object. Raises `AlreadyExists` when there is one of that name."""
        info = info_of_object(obj)
        if obj.metadata.resource_version:
            raise ValueError(f"{obj} was read from a server already: to make a copy, give it metadata of its own")
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
        """Writes what was changed in an object since it was read, and nothing else.

        Fields that the model does not know stay as they are. Raises `Conflict` when somebody else changed the object
        meanwhile. When nothing was changed, nothing is sent and the same object comes back.
        """
        operations = changes(obj, subresource)
        if not operations:
            return obj
        patch, namespace = JsonPatch(operations), obj.metadata.namespace or None
        return await self.patch(type(obj), object_name(obj), patch, namespace, subresource=subresource, dry_run=dry_run)

    async def update_status(self, obj: R, *, dry_run: bool = False) -> R:
        """Writes what was changed in the status, through the status's own endpoint."""
        return await self.update(obj, subresource="status", dry_run=dry_run)

    async def replace(self, obj: R, *, subresource: str | None = None, dry_run: bool = False) -> R:
        """Writes the whole object (PUT). What the model does not know is lost: `update` is nearly always better."""
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
        """Change parts of an object by a `JsonPatch`, `MergePatch` or `StrategicPatch`.

        Raises `Conflict` when the patch names a resource version and the object has another one by now.
        """
        if not isinstance(patch, Patch):
            kinds = "a MergePatch, a JsonPatch or a StrategicPatch"
            raise TypeError(f"a patch is {kinds}, such as MergePatch({{...}}), not {type_name(patch)}")
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
            # A patch made for one version of an object fits that version. When the server cannot even apply it, the
            # object is another now: a list is shorter, say. That answer, unlike a failed validation, names nothing.
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
        """Server-side apply: make sure that the object has these fields, creating it if need be.

        Every field that is not None is sent, also when it is 0, "" or empty. Fields that this manager applied before
        and now leaves out are removed. Raises `Conflict` when another manager owns a field, unless `force` takes it
        over.

        An object with `metadata.resource_version` is applied to that version alone: `Conflict` when the object has
        another one by now. Without it, the apply lands on whatever state it meets.
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
        """Asks for an object's deletion: `delete(core.Pod, "web")`, or `delete(pod)`.

        None when it is gone; the object, as it is now, when finalizers or a grace period keep it for a while.
        An object that was read deletes only itself, not another one that has its name by now (else `Conflict`); with a
        kind and a name, `uid` or `resource_version` do the same.
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
        """Asks for the deletion of all objects that match, in one namespace (the client's own unless given).

        The server gives itself a minute. With more objects than it can delete in that, it deletes some and says
        `Timeout`: ask again, and it goes on with the rest.
        """
        info = info_of(kind)
        query = query_of(labelSelector=selector_text(labels), fieldSelector=selector_text(fields))
        request = self._for_kind("DELETE", "deletecollection", info, self._namespace(info, namespace), query=query)
        options = delete_options(propagation, grace_period_seconds, dry_run=dry_run)
        await self._sender.read(with_body(request, encode(options), repeatable=dry_run))

    # Everything else

    async def kind(self, api_version: str, kind: str) -> type[Untyped]:
        """Returns the class for untyped objects of a kind that the server knows; `NotFound` when it does not."""
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
        """Which Kubernetes the server is."""
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
        """Any request, for what has no verb here. `body` is bytes, or an object to be sent as JSON."""
        request = self._for_path(method, path, query, accept)
        if body is not None:
            content = bytes(body) if isinstance(body, bytes | bytearray) else encode(body)
            with_body(request, content, content_type)
        return await self._sender.read(request)

    async def stream(
        self, path: str, *, query: Mapping[str, str] | None = None, accept: str = "*/*"
    ) -> AsyncIterator[bytes]:
        """Returns the body of a GET as it arrives."""
        request = self._for_path("GET", path, query, accept)
        request.stream, request.timeout = True, None
        response = await self._sender.open(request)
        try:
            async for chunk in response.chunks():
                yield chunk
        finally:
            response.close()

    async def close(self) -> None:
        """Closes all connections, unless they are those of the client that this one was made from."""
        if self._transport is not None and self._owner is None:
            await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
