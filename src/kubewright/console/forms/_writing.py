"""`Writer`: performs every write of the console.

Each write uses the viewer's own client, which rejects it in a read-only console, whatever a page shows or a browser
sends.

New objects are created, never applied, so an existing object is not overwritten. A change is sent as a JSON Patch of
the changed fields, guarded by the resourceVersion that was reviewed. Concurrent changes are never lost, and the field
owners at the time of the write are those that the viewer reviewed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kubewright.api import Untyped, decode, encode, from_dict, to_dict
from kubewright.client import Client, MergePatch, Propagation, Request, Response, Transport
from kubewright.client.wire import warning_messages
from kubewright.console.forms._changed_fields import changed_fields

__all__ = ["RecordWrite", "WriteResult", "Writer"]

RecordWrite: TypeAlias = Callable[[str, str | None, str, Sequence[str], str], None]
"""Called after each write with verb, namespace, name, changed fields, and `ok` or the name of the error."""

_WRITABLE = ("labels", "annotations", "finalizers", "owner_references")


@dataclass(slots=True)
class WriteResult:
    """The object after a write, and the server's warnings. The object is None after a deletion."""

    value: dict[str, Any] | None = field(repr=False)
    warnings: list[str] = field(default_factory=list)


class Writer:
    """Writes objects of one kind with a viewer's client. Calls `record` after each write, except for dry runs."""

    def __init__(self, client: Client, resource: type[Untyped], record: RecordWrite | None = None) -> None:
        self._client = client
        self._resource = resource
        self._record = record

    async def read(self, name: str, namespace: str | None) -> dict[str, Any]:
        """Returns the current object, including managed fields."""
        found: dict[str, Any] = to_dict(await self._client.get(self._resource, name, namespace))
        return found

    async def create(self, value: dict[str, Any], *, dry_run: bool = False) -> WriteResult:
        """Creates an object. Raises `AlreadyExists` if the name is taken."""
        client, warnings = self._collecting_warnings()
        about = value.get("metadata") or {}
        name = str(about.get("name") or about.get("generateName") or "")
        with self._recorded("create", about.get("namespace"), name, changed_fields({}, value), dry_run=dry_run):
            made = await client.create(from_dict(self._resource, value), dry_run=dry_run)
        return WriteResult(to_dict(made), warnings)

    async def change(self, before: dict[str, Any], after: dict[str, Any], *, dry_run: bool = False) -> WriteResult:
        """Changes an object from the state that was read. Raises `Conflict` if the object has changed since."""
        client, warnings = self._collecting_warnings()
        obj, wanted = decode(self._resource, encode(before)), from_dict(self._resource, after)
        obj.content = wanted.content
        for part in _WRITABLE:
            setattr(obj.metadata, part, getattr(wanted.metadata, part))
        fields = changed_fields(before, after)
        with self._recorded("update", obj.metadata.namespace, obj.metadata.name or "", fields, dry_run=dry_run):
            changed = await client.update(obj, dry_run=dry_run)
        return WriteResult(to_dict(changed), warnings)

    async def delete(
        self, name: str, namespace: str | None, uid: str, propagation: Propagation, *, dry_run: bool = False
    ) -> WriteResult:
        """Deletes the object with this UID, and no other object with the same name."""
        client, warnings = self._collecting_warnings()
        with self._recorded("delete", namespace, name, [], dry_run=dry_run):
            kept = await client.delete(
                self._resource, name, namespace, uid=uid, propagation=propagation, dry_run=dry_run
            )
        return WriteResult(to_dict(kept) if kept is not None else None, warnings)

    async def patch(
        self, name: str, namespace: str | None, uid: str, patch: dict[str, Any], subresource: str = ""
    ) -> None:
        """Sends a merge patch to the object with this UID, and to no other object with the same name.

        Does not add the UID to a patch of a subresource, which has its own metadata.
        """
        guarded = patch if subresource else {**patch, "metadata": {**patch.get("metadata", {}), "uid": uid}}
        with self._recorded("update", namespace, name, changed_fields({}, patch), dry_run=False):
            await self._client.patch(
                self._resource, name, MergePatch(guarded), namespace, subresource=subresource or None
            )

    @contextmanager
    def _recorded(
        self, verb: str, namespace: str | None, name: str, fields: Sequence[str], *, dry_run: bool
    ) -> Iterator[None]:
        outcome = "ok"
        try:
            yield
        except BaseException as error:  # a canceled write is recorded too: the server may have received it
            outcome = type(error).__name__
            raise
        finally:
            if self._record is not None and not dry_run:
                self._record(verb, namespace, name, fields, outcome)

    def _collecting_warnings(self) -> tuple[Client, list[str]]:
        """Returns a client for one write, and the list that collects the server's warnings."""
        warnings: list[str] = []
        return self._client.through(lambda transport: _WarningCollector(transport, warnings)), warnings


class _WarningCollector:
    """A transport that collects the server's warnings."""

    def __init__(self, transport: Transport, warnings: list[str]) -> None:
        self._transport = transport
        self._warnings = warnings

    async def send(self, request: Request) -> Response:
        """Sends the request and collects the warnings of the response."""
        response = await self._transport.send(request)
        self._warnings += [text for text in warning_messages(response.warnings()) if text not in self._warnings]
        return response

    async def close(self) -> None:
        """Does nothing: the connections belong to the client."""
