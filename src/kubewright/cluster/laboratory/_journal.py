"""The journal: every request and every write of the cluster, in order."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from kubewright.cluster._state import State
from kubewright.cluster.laboratory._scope import Scope
from kubewright.cluster.machinery._authors import API_SERVER, AUTHOR, Author
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry._field_managers import manager_name_of
from kubewright.cluster.storage._storage import Event, EventKind

__all__ = ["Journal", "JournalEntry"]

_ENTRIES: Final = 100_000
_BYTES: Final = 2**28
_MANAGED: Final = ("create", "update", "patch")
_OWN_VERBS: Final = {"ADDED": "create", "MODIFIED": "update", "DELETED": "delete"}

log = logging.getLogger("kubewright.cluster")


class JournalEntry:
    """One object that was written, or one request that wrote nothing, such as a read, a dry run or a failure.

    Attributes:
        number: the position in the journal, from 1. Entries of writes are in the order of their revisions.
        time: the time of the write, or of the response, by the cluster's clock.
        user: the user. Writes of the cluster itself have the user of its part: `system:apiserver` or a service account
            such as `system:serviceaccount:kube-system:generic-garbage-collector`.
        client: the User-Agent of the request; empty for writes of the cluster itself.
        manager: the field manager; empty for deletions and reads.
        request: the number of the request; 0 for writes of the cluster itself. A `deletecollection` makes one entry
            for each object.
        verb: the verb of the request; `apply` for a server-side apply; `create`, `update` or `delete` for writes of
            the cluster itself.
        resource: the resource with its group, such as `deployments.apps`.
        namespace: the namespace of the object, or of the path of a list.
        name: the name of the object; empty for lists and watches.
        subresource: the subresource, such as `status`.
        dry_run: whether the request was a dry run.
        status: the status of the response that the client received. 0 if it received none: the response was lost or
            withheld, the client was killed, the request is still being served, or the cluster made the write itself.
        revision: the revision of the write, which is the object's resourceVersion; 0 if nothing was written.
        type: `ADDED`, `MODIFIED`, `DELETED`; empty if nothing was written.
    """

    __slots__ = (
        "_event",
        "client",
        "dry_run",
        "manager",
        "name",
        "namespace",
        "number",
        "request",
        "resource",
        "status",
        "subresource",
        "time",
        "type",
        "user",
        "verb",
    )

    def __init__(self, number: int, time: datetime, resource: str, event: Event | None) -> None:
        self.number = number
        self.time = time
        self.user = self.client = self.manager = self.verb = self.subresource = ""
        self.request = self.status = 0
        self.resource = resource
        self.namespace = event.entry.namespace if event is not None else ""
        self.name = event.entry.name if event is not None else ""
        self.dry_run = False
        self.type: EventKind | str = event.kind if event is not None else ""
        self._event = event

    @property
    def wrote(self) -> bool:
        """Whether an object was written."""
        return self._event is not None

    @property
    def event(self) -> Event | None:
        """The write in the storage."""
        return self._event

    @property
    def revision(self) -> int:
        """The revision of the write; 0 if nothing was written."""
        return 0 if self._event is None else self._event.revision

    @property
    def before(self) -> JSONObject | None:
        """A copy of the object before the write, without apiVersion and kind; None if there was none."""
        if self._event is None or self._event.previous is None:
            return None
        return self._event.previous.decode()

    @property
    def after(self) -> JSONObject | None:
        """A copy of the object after the write, without apiVersion and kind; None if it was deleted."""
        if self._event is None or self._event.kind == "DELETED":
            return None
        return self._event.entry.decode()

    def as_dict(self, *, bodies: bool = True) -> dict[str, Any]:
        """Returns everything as JSON values, to store a journal or to compare two of them.

        Two runs are the same if these are equal. `bodies=False` omits the objects, which may contain secrets.
        """
        made: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                *("number", "user", "client", "manager", "request", "verb", "resource", "namespace", "name"),
                *("subresource", "dry_run", "status", "revision", "type"),
            )
        }
        made["time"] = self.time.isoformat()
        return made | {"before": self.before, "after": self.after} if bodies else made

    def __repr__(self) -> str:
        place = "/".join(part for part in (self.namespace, self.name, self.subresource) if part)
        result = f"revision {self.revision}" if self.wrote else "nothing written"
        return f"<{self.number}: {self.user} {self.verb} {self.resource} {place}: {self.status or '-'}, {result}>"


class _Hook(Scope):
    """A function that is called with each write until the end."""

    def __init__(self, function: Callable[[JournalEntry], object], hooks: list[_Hook]) -> None:
        self._function = function
        self._hooks = hooks
        hooks.append(self)

    def call(self, entry: JournalEntry) -> None:
        """Calls the function. Its exception must not reach the storage."""
        try:
            self._function(entry)
        except Exception:
            log.exception("a function passed to on_write failed at %r", entry)

    def end(self) -> None:
        """Ends the calls. May be called more than once."""
        if self in self._hooks:
            self._hooks.remove(self)


class Journal:
    """Records requests and writes: at most 100,000 entries and 256 MiB of objects; the oldest are dropped."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._entries: deque[JournalEntry] = deque()
        self._bytes = 0
        self._number = 0
        self._open: dict[int, list[JournalEntry]] = {}
        self._resources: dict[str, str] = {}
        self._hooks: list[_Hook] = []
        state.storage.recorder = self._record

    def close(self) -> None:
        """Stops recording."""
        self._state.storage.recorder = None

    def call(self, function: Callable[[JournalEntry], object]) -> Scope:
        """Calls a function with each write until the scope ends."""
        return _Hook(function, self._hooks)

    @property
    def entries(self) -> list[JournalEntry]:
        """All entries, the oldest first."""
        return list(self._entries)

    def since(self, number: int) -> list[JournalEntry]:
        """Returns the entries after a number."""
        first = self._entries[0].number if self._entries else 1
        return [self._entries[index] for index in range(max(number + 1 - first, 0), len(self._entries))]

    def of(self, storage: str, namespace: str, name: str) -> list[JournalEntry]:
        """Returns the writes of an object."""
        return [
            entry
            for entry in self._entries
            if (event := entry.event) is not None
            and event.storage == storage
            and event.entry.namespace == namespace
            and event.entry.name == name
        ]

    def begin(self, request: int) -> None:
        """Starts to collect the writes of a request."""
        self._open[request] = []

    def written(self, request: int) -> tuple[JournalEntry, ...]:
        """Returns the entries that a request has made so far."""
        return tuple(self._open.get(request, ()))

    def answered(self, author: Author, name: str, status: int) -> None:
        """Records the status of the response to a request. A request that wrote nothing gets its own entry."""
        made, call = self._open.pop(author.request), author.call
        assert call is not None
        for entry in made:
            entry.status = status
        if not made:
            entry = self._add(call.type.qualified, None)
            entry.namespace, entry.name, entry.status = call.namespace, name, status
            self._attribute(entry, author)

    def _record(self, event: Event) -> None:
        author = AUTHOR.get()
        if author is None or author.ended:
            author = Author(API_SERVER)
        entry = self._add(self._resource(event.storage), event)
        self._attribute(entry, author)
        if author.request in self._open:
            self._open[author.request].append(entry)
        for hook in list(self._hooks):
            hook.call(entry)

    def _add(self, resource: str, event: Event | None) -> JournalEntry:
        self._number += 1
        entry = JournalEntry(self._number, self._state.clock.now(), resource, event)
        self._entries.append(entry)
        self._bytes += _size(event)
        while len(self._entries) > _ENTRIES or self._bytes > _BYTES:
            self._bytes -= _size(self._entries.popleft().event)
        return entry

    def _attribute(self, entry: JournalEntry, author: Author) -> None:
        entry.user, call = author.user, author.call
        if call is None:
            entry.verb = _OWN_VERBS[entry.type]
            return
        entry.request = author.request
        entry.verb = author.verb
        entry.client = call.header("User-Agent")
        entry.subresource, entry.dry_run = call.subresource, call.dry_run
        entry.manager = manager_name_of(call) if call.verb in _MANAGED else ""

    def _resource(self, storage: str) -> str:
        """Returns the resource name of a storage name: `deployments.apps` for `apps/deployments`."""
        found = self._resources.get(storage)
        if found is None:
            group, _, plural = storage.rpartition("/")
            types = self._state.types.stored_as(storage)
            found = types[0].qualified if types else f"{plural}.{group}" if group else plural
            self._resources[storage] = found
        return found


def _size(event: Event | None) -> int:
    return 0 if event is None else len(event.entry.raw)
