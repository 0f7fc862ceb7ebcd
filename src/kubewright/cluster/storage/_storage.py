"""Storage: every object of the cluster, one revision counter, and a log of what changed.

Objects are kept as JSON bytes, without apiVersion and kind, so that an answer in any version is a few bytes put in
front of them. Each write has a revision of its own, which is the object's `metadata.resourceVersion`, and leaves an
`Event` in the log. The log answers watches from a revision in the past and lists as of one; `compact` forgets its
beginning, and it forgets by itself what is more than `history` writes old, or more than 128 MiB of objects ago.

Nothing here waits: a write and what it tells its subscribers are one step, which nothing can come between. Not safe
for threads.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec

from kubewright.cluster.machinery._failures import Failure
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.redaction import Redacted

__all__ = ["Compacted", "Entry", "Event", "EventKind", "RevisionConflict", "Storage", "Subscriber"]

EventKind: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]
_FIRST_REVISION: Final = 1
_HISTORY: Final = 10_000
_HISTORY_BYTES: Final = 2**27
_LARGEST_OBJECT: Final = 3 * 512 * 1024  # etcd's --max-request-bytes
_LARGEST_MESSAGE: Final = 2 * 1024 * 1024  # the largest request that the client of etcd sends
_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(dict[str, Any])


class Compacted(Exception):
    """That part of history is forgotten. `oldest` is the first revision that is still known."""

    def __init__(self, revision: int, oldest: int) -> None:
        super().__init__(f"revision {revision} is forgotten; history begins at {oldest}")
        self.revision = revision
        self.oldest = oldest


class RevisionConflict(Exception):
    """The object is not what the writer had read."""


class Entry(Redacted, msgspec.Struct, frozen=True, gc=False):
    """An object as it was at one revision."""

    redacted = frozenset({"raw"})

    namespace: str
    name: str
    revision: int
    raw: bytes
    labels: dict[str, str] | None
    version: str = ""
    """The apiVersion in which it is stored, which matters where versions differ; empty for what never had one."""

    @property
    def key(self) -> str:
        """Its place among the objects of its kind: lists are in the order of keys."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def decode(self) -> JSONObject:
        """A fresh copy of the object, without apiVersion and kind."""
        return _decoder.decode(self.raw)


class Event:
    """One write. `entry` is the object after it, or what was deleted; `previous` the one before, None for a new one.

    `frames` is where those who send the event keep its encoded forms while it is told, so that each is made once for
    all watchers.
    """

    __slots__ = ("entry", "frames", "kind", "previous", "revision", "storage")

    def __init__(self, storage: str, kind: EventKind, entry: Entry, previous: Entry | None) -> None:
        self.storage = storage
        self.kind = kind
        self.revision = entry.revision
        self.entry = entry
        self.previous = previous
        self.frames: dict[Any, Any] = {}


class Subscriber(Protocol):
    """Whoever is told of writes. `offer` must neither raise nor write."""

    def offer(self, event: Event) -> None:
        """Take notice of a write."""


def _too_large(size: int) -> Failure:
    if size <= _LARGEST_MESSAGE:
        return Failure(500, "", "etcdserver: request is too large")
    problem = f"trying to send message larger than max ({size} vs. {_LARGEST_MESSAGE})"
    return Failure(500, "", f"rpc error: code = ResourceExhausted desc = {problem}")


class _Table:
    """The objects of one kind, their keys in order, their part of the log, and who listens to them."""

    __slots__ = ("by_name", "by_namespace", "entries", "everything", "keys", "log")

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.keys: list[str] = []
        self.log: deque[Event] = deque()
        # Subscribers by what they look at. Dicts, because they keep the order in which the watches began.
        self.everything: dict[Subscriber, None] = {}
        self.by_namespace: dict[str, dict[Subscriber, None]] = {}
        self.by_name: dict[str, dict[Subscriber, None]] = {}

    def place(self, namespace: str, name: str) -> tuple[dict[str, dict[Subscriber, None]] | None, str]:
        if name:
            return self.by_name, f"{namespace}/{name}"
        return (self.by_namespace, namespace) if namespace else (None, "")

    def tell(self, event: Event) -> None:
        entry = event.entry
        for subscriber in self.everything:
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
    """All objects, by storage name (`apps/deployments`), namespace and name. A cluster-scoped one has no namespace."""

    def __init__(self, *, history: int = _HISTORY) -> None:
        self._history = history
        self._tables: dict[str, _Table] = {}
        self._log: deque[Event] = deque()
        self._log_bytes = 0
        self._everyone: dict[Subscriber, None] = {}
        self.revision = _FIRST_REVISION
        """The revision of the last write."""
        self.compacted = 0
        """History up to this revision is forgotten: nothing can be watched from before it."""

    def _table(self, storage: str) -> _Table:
        table = self._tables.get(storage)
        if table is None:
            table = self._tables[storage] = _Table()
        return table

    # Reading

    def get(self, storage: str, namespace: str, name: str) -> Entry | None:
        """The object as it is now."""
        table = self._tables.get(storage)
        return None if table is None else table.entries.get(f"{namespace}/{name}" if namespace else name)

    def get_at(self, storage: str, namespace: str, name: str, revision: int) -> Entry | None:
        """The object as it was at a revision. Raises `Compacted` when that is forgotten."""
        found = self.get(storage, namespace, name)
        for event in reversed(self.events(storage, revision, namespace, name)):
            found = event.previous
        return found

    def count(self, storage: str) -> int:
        """How many objects of that kind there are."""
        table = self._tables.get(storage)
        return 0 if table is None else len(table.entries)

    def names(self) -> list[str]:
        """The storage names under which there are objects."""
        return [name for name, table in self._tables.items() if table.entries]

    def entries(
        self, storage: str, namespace: str = "", *, after: str = "", revision: int | None = None
    ) -> Iterator[Entry]:
        """The objects of a kind in the order of their keys, beginning behind a key; as of a revision, now unless given.

        Raises `Compacted` when that revision is forgotten. Read it to the end before the next write.
        """
        table = self._table(storage)
        begin = f"{namespace}/" if namespace else ""
        start = max(begin, f"{after}\0" if after else "")
        if revision is None or revision >= self.revision:
            return _current(table, start, begin)
        return _as_of(table, start, begin, self._changed_since(table, revision))

    def _changed_since(self, table: _Table, revision: int) -> dict[str, Entry | None]:
        """What the objects that have changed since a revision were at that revision."""
        self._check(revision)
        before: dict[str, Entry | None] = {}
        for event in reversed(table.log):
            if event.revision <= revision:
                break
            before[event.entry.key] = event.previous
        return before

    def events(self, storage: str, revision: int, namespace: str = "", name: str = "") -> list[Event]:
        """What was written after a revision. Raises `Compacted` when that is not known any more."""
        self._check(revision)
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
        """Write an object: a new one when `expected` is None, else in place of that entry.

        Stamps its resourceVersion. Raises `RevisionConflict` when something else is stored than was expected, and
        `Failure` when the object is larger than etcd's limit.
        """
        metadata = obj["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        table = self._table(storage)
        key = f"{namespace}/{name}" if namespace else name
        if table.entries.get(key) is not expected:
            raise RevisionConflict
        entry = self._entry(namespace, name, obj)
        if len(entry.raw) > _LARGEST_OBJECT:
            self.revision -= 1
            raise _too_large(len(entry.raw))
        table.insert(entry)
        self._record(table, Event(storage, "ADDED" if expected is None else "MODIFIED", entry, expected))
        return entry

    def delete(self, storage: str, obj: JSONObject, expected: Entry) -> Entry:
        """Remove an object. The answer, like the event, is what it was at its end, at the revision of the deletion."""
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
        while len(self._log) > self._history or (self._log_bytes > _HISTORY_BYTES and len(self._log) > 1):
            self.compact(self._log[0].revision)
        table.tell(event)
        for subscriber in self._everyone:
            subscriber.offer(event)

    def compact(self, revision: int | None = None) -> int:
        """Forget the history up to a revision, by default all of it. The answer is the revision that it begins at."""
        revision = self.revision if revision is None else min(revision, self.revision)
        while self._log and self._log[0].revision <= revision:
            event = self._log.popleft()
            self._log_bytes -= len(event.entry.raw)
            self._tables[event.storage].log.popleft()
        self.compacted = max(self.compacted, revision)
        return self.compacted

    # Listening

    def subscribe(self, storage: str, subscriber: Subscriber, namespace: str = "", name: str = "") -> None:
        """Tell a subscriber of each write to a kind from now on; of those in a namespace or with a name, if given."""
        table = self._table(storage)
        index, key = table.place(namespace, name)
        (table.everything if index is None else index.setdefault(key, {}))[subscriber] = None

    def unsubscribe(self, storage: str, subscriber: Subscriber, namespace: str = "", name: str = "") -> None:
        """Tell it no longer. Harmless when it was not told."""
        table = self._table(storage)
        index, key = table.place(namespace, name)
        listeners = table.everything if index is None else index.get(key)
        if listeners is not None:
            listeners.pop(subscriber, None)
            if index is not None and not listeners:
                del index[key]

    def subscribe_all(self, subscriber: Subscriber) -> None:
        """Tell a subscriber of each write to any kind from now on."""
        self._everyone[subscriber] = None

    def unsubscribe_all(self, subscriber: Subscriber) -> None:
        """Tell it no longer. Harmless when it was not told."""
        self._everyone.pop(subscriber, None)

    # Snapshots

    def dump(self) -> Iterator[tuple[str, Entry]]:
        """Every object with its storage name."""
        for storage, table in self._tables.items():
            for entry in islice(table.entries.values(), None):
                yield storage, entry

    def restore(self, objects: Mapping[str, Mapping[str, Entry]]) -> None:
        """Put everything back as it was: entries by storage name and key. At a new revision, and without a history.

        Subscribers are told of all that is different now, when it is so.
        """
        self.revision += 1
        self.compact()
        different = []
        for storage in {**self._tables, **objects}:
            table, wanted = self._table(storage), objects.get(storage, {})
            for key in [key for key in table.keys if key not in wanted]:
                gone = table.entries[key]
                table.remove(key)
                different.append((table, Event(storage, "DELETED", gone, gone)))
            for key, entry in wanted.items():
                before = table.entries.get(key)
                if before is not entry:
                    table.insert(entry)
                    different.append((table, Event(storage, "MODIFIED" if before else "ADDED", entry, before)))
        for table, event in different:
            table.tell(event)
            for subscriber in self._everyone:
                subscriber.offer(event)

    def load(self, revision: int, objects: Iterator[tuple[str, JSONObject]]) -> None:
        """Fill an empty storage with objects as they were dumped. Their history is not known."""
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
        self.revision = self.compacted = revision


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
