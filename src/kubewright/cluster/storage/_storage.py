"""Storage: all objects of the cluster, one revision counter, and a log of changes.

Objects are kept as JSON bytes without apiVersion and kind, so that a response in any version is a short prefix and
these bytes. Each write has its own revision, which is the object's `metadata.resourceVersion`, and adds an `Event` to
the log. The log serves watches from a past revision and lists at one. `compact` removes its beginning. Events that are
more than `history` writes or 128 MiB of objects old are removed automatically.

Nothing here awaits: a write and the notification of its subscribers are atomic. Not thread-safe.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

import msgspec

from kubewright.cluster.machinery._failures import Failure
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.storage._entries import Compacted, Entry, Event, EventKind, RevisionConflict, Subscriber

__all__ = [
    "HISTORY_BYTES",
    "MAX_OBJECT_BYTES",
    "Compacted",
    "Entry",
    "Event",
    "EventKind",
    "RevisionConflict",
    "Storage",
    "Subscriber",
]

_FIRST_REVISION: Final = 1
_HISTORY: Final = 10_000
_COUNTED_NAMES: Final = 100_000
HISTORY_BYTES: Final = 2**27
MAX_OBJECT_BYTES: Final = 3 * 512 * 1024  # etcd's --max-request-bytes
_MAX_MESSAGE_BYTES: Final = 2 * 1024 * 1024  # the largest request that etcd's client sends
_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(dict[str, Any])


def _too_large(size: int) -> Failure:
    if size <= _MAX_MESSAGE_BYTES:
        return Failure(500, "", "etcdserver: request is too large")
    problem = f"trying to send message larger than max ({size} vs. {_MAX_MESSAGE_BYTES})"
    return Failure(500, "", f"rpc error: code = ResourceExhausted desc = {problem}")


class _Table:
    """The objects of one kind, their sorted keys, their part of the log, and their subscribers."""

    __slots__ = ("by_name", "by_namespace", "entries", "keys", "log", "unscoped")

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.keys: list[str] = []
        self.log: deque[Event] = deque()
        # Subscribers by scope. Dicts keep the order in which they subscribed.
        self.unscoped: dict[Subscriber, None] = {}
        self.by_namespace: dict[str, dict[Subscriber, None]] = {}
        self.by_name: dict[str, dict[Subscriber, None]] = {}

    def index_of(self, namespace: str, name: str) -> tuple[dict[str, dict[Subscriber, None]] | None, str]:
        if name:
            return self.by_name, f"{namespace}/{name}"
        return (self.by_namespace, namespace) if namespace else (None, "")

    def notify(self, event: Event) -> None:
        entry = event.entry
        for subscriber in self.unscoped:
            subscriber.offer(event)
        if self.by_namespace:
            for subscriber in self.by_namespace.get(entry.namespace, ()):
                subscriber.offer(event)
        if self.by_name:
            for subscriber in self.by_name.get(f"{entry.namespace}/{entry.name}", ()):
                subscriber.offer(event)
            if entry.namespace:
                for subscriber in self.by_name.get(f"/{entry.name}", ()):
                    subscriber.offer(event)

    def insert(self, entry: Entry) -> None:
        key = entry.key
        if key not in self.entries:
            if not self.keys or key > self.keys[-1]:
                self.keys.append(key)
            else:
                insort(self.keys, key)
        self.entries[key] = entry

    def remove(self, key: str) -> None:
        del self.entries[key]
        del self.keys[bisect_left(self.keys, key)]


class Storage:
    """All objects, by storage name (`apps/deployments`), namespace ("" if cluster-scoped) and name."""

    def __init__(self, *, history: int = _HISTORY, history_bytes: int = HISTORY_BYTES) -> None:
        self._history = history
        self._history_bytes = history_bytes
        self._tables: dict[str, _Table] = {}
        self._log: deque[Event] = deque()
        self._log_bytes = 0
        self._global_subscribers: dict[Subscriber, None] = {}
        self._unsent: deque[tuple[_Table, Event]] = deque()
        self._sending = False
        self._deletions: dict[tuple[str, str], int] = {}
        self._forgotten_deletions = 0
        self.recorder: Callable[[Event], object] | None = None
        """Called at each write, before subscribers are notified; the laboratory sets it. It must neither raise nor
        write."""
        self.revision = _FIRST_REVISION
        """The revision of the last write."""
        self.compacted = 0
        """History up to this revision is compacted: lists cannot continue from before it."""
        self._forgotten = 0  # watches cannot start before it: the revision of the last event that was discarded

    def _table(self, storage: str) -> _Table:
        table = self._tables.get(storage)
        if table is None:
            table = self._tables[storage] = _Table()
        return table

    # Reading

    def get(self, storage: str, namespace: str, name: str) -> Entry | None:
        """Returns the current object."""
        table = self._tables.get(storage)
        return None if table is None else table.entries.get(f"{namespace}/{name}" if namespace else name)

    def get_at(self, storage: str, namespace: str, name: str, revision: int) -> Entry | None:
        """Returns the object at a revision. Raises `Compacted`."""
        found = self.get(storage, namespace, name)
        for event in reversed(self.events(storage, revision, namespace, name)):
            found = event.previous
        return found

    def incarnation(self, storage: str, namespace: str, name: str) -> int:
        """Returns a number that no earlier object of that name had: how many were deleted, unless that is forgotten."""
        key = f"{namespace}/{name}" if namespace else name
        return self._deletions.get((storage, key), self._forgotten_deletions)

    def _count_deletion(self, storage: str, entry: Entry) -> None:
        self._deletions[storage, entry.key] = self.incarnation(storage, entry.namespace, entry.name) + 1
        if len(self._deletions) > _COUNTED_NAMES:  # numbers continue after the highest one
            self._forgotten_deletions = max(self._deletions.values()) + 1
            self._deletions.clear()

    def count(self, storage: str) -> int:
        """Returns the number of objects of a kind."""
        table = self._tables.get(storage)
        return 0 if table is None else len(table.entries)

    def names(self) -> list[str]:
        """Returns the storage names that have objects."""
        return [name for name, table in self._tables.items() if table.entries]

    def entries(
        self, storage: str, namespace: str = "", *, after: str = "", revision: int | None = None
    ) -> Iterator[Entry]:
        """Yields the objects of a kind sorted by key, after a key, at a revision. Default: all, at the newest one.

        Raises `Compacted`. Consume the iterator before the next write.
        """
        table = self._table(storage)
        begin = f"{namespace}/" if namespace else ""
        start = max(begin, f"{after}\0" if after else "")
        if revision is None or revision >= self.revision:
            return _current(table, start, begin)
        return _as_of(table, start, begin, self._changed_since(table, revision))

    def _changed_since(self, table: _Table, revision: int) -> dict[str, Entry | None]:
        """Returns the objects that changed since a revision, as they were at that revision."""
        self._check(revision)
        before: dict[str, Entry | None] = {}
        for event in reversed(table.log):
            if event.revision <= revision:
                break
            before[event.entry.key] = event.previous
        return before

    def events(self, storage: str, revision: int, namespace: str = "", name: str = "") -> list[Event]:
        """Returns the events after a revision. Raises `Compacted`."""
        if revision < self._forgotten:
            raise Compacted(revision, self.compacted)
        table = self._table(storage)
        newest_first = []
        for event in reversed(table.log):
            if event.revision <= revision:
                break
            if (not namespace or event.entry.namespace == namespace) and (not name or event.entry.name == name):
                newest_first.append(event)
        return newest_first[::-1]

    def _check(self, revision: int) -> None:
        if revision < self.compacted:
            raise Compacted(revision, self.compacted)

    # Writing

    def put(self, storage: str, obj: JSONObject, expected: Entry | None) -> Entry:
        """Stores an object: a new one if `expected` is None, otherwise in place of that entry.

        Sets its resourceVersion. Raises `RevisionConflict` if the stored entry is not `expected`, and `Failure` if the
        object exceeds etcd's limit.
        """
        metadata = obj["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        table = self._table(storage)
        key = f"{namespace}/{name}" if namespace else name
        if table.entries.get(key) is not expected:
            raise RevisionConflict
        entry = self._entry(namespace, name, obj)
        if len(entry.raw) > MAX_OBJECT_BYTES:
            self.revision -= 1
            raise _too_large(len(entry.raw))
        table.insert(entry)
        self._record(table, Event(storage, "ADDED" if expected is None else "MODIFIED", entry, expected))
        return entry

    def delete(self, storage: str, obj: JSONObject, expected: Entry) -> Entry:
        """Removes an object. The returned entry is its last state, with the revision of the delete."""
        table = self._table(storage)
        if table.entries.get(expected.key) is not expected:
            raise RevisionConflict
        entry = self._entry(expected.namespace, expected.name, {"apiVersion": expected.version, **obj})
        table.remove(expected.key)
        self._record(table, Event(storage, "DELETED", entry, expected))
        return entry

    def _entry(self, namespace: str, name: str, obj: JSONObject) -> Entry:
        self.revision += 1
        metadata = obj["metadata"]
        metadata["resourceVersion"] = str(self.revision)
        stored = {field: value for field, value in obj.items() if field != "apiVersion" and field != "kind"}
        labels = metadata.get("labels") or None
        return Entry(namespace, name, self.revision, _encoder.encode(stored), labels, obj.get("apiVersion", ""))

    def _record(self, table: _Table, event: Event) -> None:
        table.log.append(event)
        self._log.append(event)
        self._log_bytes += len(event.entry.raw)
        while len(self._log) > self._history or (self._log_bytes > self._history_bytes and len(self._log) > 1):
            self.compact(self._log[0].revision)
        self._enqueue(table, event)
        self._send()

    def _enqueue(self, table: _Table, event: Event) -> None:
        if event.kind == "DELETED":
            self._count_deletion(event.storage, event.entry)
        if self.recorder is not None:
            self.recorder(event)
        self._unsent.append((table, event))

    def _send(self) -> None:
        """Notifies subscribers of each event in order. A subscriber may write: its event follows the current one."""
        if self._sending:
            return
        self._sending = True
        try:
            while self._unsent:
                table, event = self._unsent.popleft()
                table.notify(event)
                for subscriber in self._global_subscribers:
                    subscriber.offer(event)
        finally:
            self._sending = False

    def compact(self, revision: int | None = None) -> int:
        """Compacts the history up to a revision, by default all of it. Returns the compacted revision."""
        revision = self.revision if revision is None else min(revision, self.revision)
        while self._log and self._log[0].revision <= revision:
            event = self._log.popleft()
            self._forgotten = event.revision
            self._log_bytes -= len(event.entry.raw)
            self._tables[event.storage].log.popleft()
        self.compacted = max(self.compacted, revision)
        return self.compacted

    def advance(self) -> None:
        """Takes a revision without an event, as a write outside of the API does."""
        self.revision += 1

    # Subscribing

    def subscribe(self, storage: str, subscriber: Subscriber, namespace: str = "", name: str = "") -> None:
        """Notifies a subscriber of each write to a kind from now on; limited to a namespace or a name, if given."""
        table = self._table(storage)
        index, key = table.index_of(namespace, name)
        (table.unscoped if index is None else index.setdefault(key, {}))[subscriber] = None

    def unsubscribe(self, storage: str, subscriber: Subscriber, namespace: str = "", name: str = "") -> None:
        """Stops notifying a subscriber. Does nothing if it is not subscribed."""
        table = self._table(storage)
        index, key = table.index_of(namespace, name)
        listeners = table.unscoped if index is None else index.get(key)
        if listeners is not None:
            listeners.pop(subscriber, None)
            if index is not None and not listeners:
                del index[key]

    def subscribe_all(self, subscriber: Subscriber) -> None:
        """Notifies a subscriber of each write to any kind from now on."""
        self._global_subscribers[subscriber] = None

    def unsubscribe_all(self, subscriber: Subscriber) -> None:
        """Stops notifying a subscriber. Does nothing if it is not subscribed."""
        self._global_subscribers.pop(subscriber, None)

    # Snapshots

    def dump(self) -> Iterator[tuple[str, Entry]]:
        """Yields all objects with their storage names."""
        for storage, table in self._tables.items():
            for entry in islice(table.entries.values(), None):
                yield storage, entry

    def restore(self, objects: Mapping[str, Mapping[str, Entry]]) -> None:
        """Restores all objects: entries by storage name and key. Creates a new revision and compacts the history.

        Notifies subscribers of all differences after the restore.
        """
        self.revision += 1
        self._forgotten = self.compact()
        for storage in {**self._tables, **objects}:
            table, wanted = self._table(storage), objects.get(storage, {})
            for key in [key for key in table.keys if key not in wanted]:
                gone = table.entries[key]
                table.remove(key)
                self._enqueue(table, Event(storage, "DELETED", gone, gone))
            for key, entry in wanted.items():
                before = table.entries.get(key)
                if before is not entry:
                    table.insert(entry)
                    self._enqueue(table, Event(storage, "MODIFIED" if before else "ADDED", entry, before))
        self._send()

    def load(self, revision: int, objects: Iterator[tuple[str, JSONObject]]) -> None:
        """Fills an empty storage with dumped objects. Their history is unknown."""
        for storage, obj in objects:
            metadata, version = obj["metadata"], obj.pop("apiVersion", "")
            entry = Entry(
                metadata.get("namespace", ""),
                metadata["name"],
                int(metadata["resourceVersion"]),
                _encoder.encode(obj),
                metadata.get("labels") or None,
                version,
            )
            self._table(storage).insert(entry)
        self.revision = self.compacted = self._forgotten = revision


def _current(table: _Table, start: str, prefix: str) -> Iterator[Entry]:
    keys, entries = table.keys, table.entries
    for key in islice(keys, bisect_left(keys, start) if start else 0, None):
        if not key.startswith(prefix):
            return
        yield entries[key]


def _as_of(table: _Table, start: str, prefix: str, before: dict[str, Entry | None]) -> Iterator[Entry]:
    gone = [key for key, entry in before.items() if entry is not None and key not in table.entries]
    keys = sorted([*table.keys, *gone]) if gone else table.keys
    for key in islice(keys, bisect_left(keys, start) if start else 0, None):
        if not key.startswith(prefix):
            return
        entry = before[key] if key in before else table.entries[key]
        if entry is not None:
            yield entry
