"""`Writer`: the one way by which the console changes anything.

Each write is made with the viewer's own client, which refuses it when the console is read-only, whatever a page shows
or a browser sends.

A new object is created, so it never takes over one that is there. A change is sent as a JSON patch of what was changed
and nothing else, guarded by the version of the object that it was made for: what others changed meanwhile is never
lost, and the owners that the viewer was shown are the owners at the moment of the write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kubewright.api import Untyped, decode, encode, from_dict, to_dict
from kubewright.client import Client, Propagation, Request, Response, Transport
from kubewright.client.wire import warning_messages
from kubewright.console.forms._changed_fields import changed_fields

__all__ = ["RecordWrite", "WriteResult", "Writer"]

RecordWrite: TypeAlias = Callable[[str, str | None, str, Sequence[str], str], None]
"""Called after each write with its verb, the namespace and name, the changed fields, and `ok` or the error's name."""

_WRITABLE = ("labels", "annotations", "finalizers", "owner_references")


@dataclass(slots=True)
class WriteResult:
    """What the server made of a write, and what it warned of. None when the object is gone."""

    value: dict[str, Any] | None = field(repr=False)
    warnings: list[str] = field(default_factory=list)


class Writer:
    """Writes objects of one kind with a viewer's client. `record` is told of each write, and of no dry run."""

    def __init__(self, client: Client, resource: type[Untyped], record: RecordWrite | None = None) -> None:
        self._client = client
        self._resource = resource
        self._record = record

    async def read(self, name: str, namespace: str | None) -> dict[str, Any]:
        """The object as it is, with all that the server notes about it."""
        found: dict[str, Any] = to_dict(await self._client.get(self._resource, name, namespace))
        return found

    async def create(self, value: dict[str, Any], *, dry_run: bool = False) -> WriteResult:
        """Make an object. `AlreadyExists` when there is one of that name."""
        client, warnings = self._listening()
        about = value.get("metadata") or {}
        name = str(about.get("name") or about.get("generateName") or "")
        with self._recorded("create", about.get("namespace"), name, changed_fields({}, value), dry_run=dry_run):
            made = await client.create(from_dict(self._resource, value), dry_run=dry_run)
        return WriteResult(to_dict(made), warnings)

    async def change(self, before: dict[str, Any], after: dict[str, Any], *, dry_run: bool = False) -> WriteResult:
        """Change an object from what was read to what is wanted. `Conflict` when somebody else changed it meanwhile."""
        client, warnings = self._listening()
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
        """Ask for the deletion of this very object, not of another one that has its name by now."""
        client, warnings = self._listening()
        with self._recorded("delete", namespace, name, [], dry_run=dry_run):
            kept = await client.delete(
                self._resource, name, namespace, uid=uid, propagation=propagation, dry_run=dry_run
            )
        return WriteResult(to_dict(kept) if kept is not None else None, warnings)

    @contextmanager
    def _recorded(
        self, verb: str, namespace: str | None, name: str, fields: Sequence[str], *, dry_run: bool
    ) -> Iterator[None]:
        outcome = "ok"
        try:
            yield
        except BaseException as error:  # also of one that was canceled: the server may have heard of it
            outcome = type(error).__name__
            raise
        finally:
            if self._record is not None and not dry_run:
                self._record(verb, namespace, name, fields, outcome)

    def _listening(self) -> tuple[Client, list[str]]:
        """A client for one write, and where the server's warnings are put."""
        warnings: list[str] = []
        return self._client.through(lambda transport: _Listening(transport, warnings)), warnings


class _Listening:
    """A transport that notes what the server warns of."""

    def __init__(self, transport: Transport, warnings: list[str]) -> None:
        self._transport = transport
        self._warnings = warnings

    async def send(self, request: Request) -> Response:
        """Send, and note the warnings of the answer."""
        response = await self._transport.send(request)
        self._warnings += [text for text in warning_messages(response.warnings()) if text not in self._warnings]
        return response

    async def close(self) -> None:
        """The connections belong to somebody else."""
