"""`Store`: the confirmed snapshots of one kind and their indexes.

One thread writes: that of the event loop. Any thread reads, without a lock. Each read is a single step of the
interpreter (the `get` of a dict, a copy of a set), which CPython's global interpreter lock makes atomic; free-threaded
builds are not supported. A list is therefore not frozen in time: an object that is deleted while the list is built is
left out. The lock serves the building of an index on first use, which must not miss a write. It is reentrant, because
an index function may read the store that it indexes.

Indexes by namespace, owner and label are built on first use and cost nothing before.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from kubewright.api import Object, Selector, SelectorOperator
from kubewright.arguments import check_word
from kubewright.cache._arguments import IndexFunction
from kubewright.cache._indexes import FunctionIndex, HeaderIndex, Index, by_label, by_namespace, by_owner
from kubewright.cache._key import NAMESPACE_INDEX, OWNER_INDEX, ObjectKey
from kubewright.cache._loop_time import LoopTime

if TYPE_CHECKING:
    from kubewright.cache._snapshot import Snapshot

__all__ = ["Store"]

R = TypeVar("R", bound=Object)

_LABEL_INDEXES_AT_MOST: Final = 32
_POSITIVE: Final = (SelectorOperator.EQUALS, SelectorOperator.DOUBLE_EQUALS, SelectorOperator.IN)


class Store(Generic[R]):
    """Snapshots by key, and indexes that always match them.

    A `Reflector` fills it. Reads are plain calls, safe from any thread, and return snapshots, which are immutable. A
    `put` or `remove` changes the snapshot and all indexes in one step: a reader never sees one without the other.
    """

    def __init__(
        self, indexes: Mapping[str, IndexFunction[R]] | None = None, *, loop_time: LoopTime | None = None
    ) -> None:
        self.loop_time = loop_time or LoopTime()
        self._snapshots: dict[ObjectKey, Snapshot[R]] = {}
        self._sorted: list[ObjectKey] | None = None
        self._lock = threading.RLock()
        self._header_indexes: dict[str, Index[R]] = {}
        self._label_indexes: dict[str, Index[R]] = {}
        self._function_indexes: dict[str, FunctionIndex[R]] = {}
        self._all_indexes: tuple[Index[R], ...] = ()
        for name, function in (indexes or {}).items():
            self.add_index(name, function)

    # Writing

    def put(self, snapshot: Snapshot[R]) -> Snapshot[R] | None:
        """Stores a snapshot. Returns the one that it replaces, or None."""
        key = snapshot.key
        with self._lock:
            old = self._snapshots.get(key)
            self._snapshots[key] = snapshot
            if old is None:
                self._sorted = None
            for index in self._all_indexes:
                index.change(key, old, snapshot)
        return old

    def remove(self, key: ObjectKey) -> Snapshot[R] | None:
        """Removes a key. Returns its snapshot, or None."""
        with self._lock:
            old = self._snapshots.pop(key, None)
            if old is not None:
                self._sorted = None
                for index in self._all_indexes:
                    index.change(key, old, None)
        return old

    # Reading

    def __len__(self) -> int:
        return len(self._snapshots)

    @property
    def size(self) -> int:
        """The size of all objects' JSON in bytes."""
        return sum(len(snapshot.raw) for snapshot in list(self._snapshots.values()))

    def get(self, key: ObjectKey) -> Snapshot[R] | None:
        """Returns the snapshot of a key, or None."""
        return self._snapshots.get(key)

    def ordered_keys(self, namespace: str | None = None) -> Sequence[ObjectKey]:
        """Returns the keys of all objects, or of one namespace, sorted. Do not change the list."""
        if namespace is not None:  # used once for each list: an index would stay in memory
            return [key for key in self.ordered_keys() if key.namespace == namespace]
        found = self._sorted
        if found is None:
            with self._lock:
                found = self._sorted = sorted(self._snapshots)
        return found

    def select(self, namespace: str | None = None, selector: Selector | None = None) -> list[Snapshot[R]]:
        """Returns the snapshots in a namespace that a selector matches, sorted by key."""
        snapshots = self.snapshots(self._candidates(namespace, selector))
        return [snapshot for snapshot in snapshots if matches(snapshot, namespace, selector)]

    def snapshots(self, keys: Iterable[ObjectKey]) -> list[Snapshot[R]]:
        """Returns the snapshots of the keys that are still in the store."""
        get = self._snapshots.get
        return [snapshot for key in keys if (snapshot := get(key)) is not None]

    def _candidates(self, namespace: str | None, selector: Selector | None) -> Sequence[ObjectKey]:
        """Returns the smallest set of keys, sorted, that contains all matches."""
        sources: list[tuple[int, Index[R], Sequence[str]]] = []
        if namespace is not None:
            index = self.index(NAMESPACE_INDEX)
            sources.append((index.count(namespace), index, (namespace,)))
        for requirement in selector.requirements if selector else ():
            if requirement.operator in _POSITIVE and (labels := self.label_index(requirement.key)) is not None:
                count = sum(map(labels.count, requirement.values))
                sources.append((count, labels, requirement.values))
        if not sources:
            return self.ordered_keys()
        _, index, values = min(sources, key=lambda source: source[0])
        return sorted(key for value in values for key in index.keys(value))

    # Indexes

    def index(self, name: str) -> Index[R]:
        """Returns an index by its name. Raises KeyError, which lists the known names."""
        if (found := self._function_indexes.get(name)) is not None:
            return found
        if name == NAMESPACE_INDEX:
            return self._header_index(self._header_indexes, name, HeaderIndex(by_namespace))
        if name == OWNER_INDEX:
            return self._header_index(self._header_indexes, name, HeaderIndex(by_owner))
        known = ", ".join(sorted((NAMESPACE_INDEX, OWNER_INDEX, *self._function_indexes)))
        raise KeyError(f"there is no index {name!r}; known indexes: {known}")

    def label_index(self, label: str) -> Index[R] | None:
        """Returns the index of a label's values, or None if the store has too many label indexes already."""
        if label not in self._label_indexes and len(self._label_indexes) >= _LABEL_INDEXES_AT_MOST:
            return None
        return self._header_index(self._label_indexes, label, HeaderIndex(by_label(label)))

    def add_index(self, name: str, function: IndexFunction[R]) -> None:
        """Adds an index. Adding the same function under the same name again changes nothing."""
        present = self._function_indexes.get(check_word("the name of an index", name, "by-owner"))
        if name in (NAMESPACE_INDEX, OWNER_INDEX) or (present is not None and present.function is not function):
            raise ValueError(f"the index {name!r} already exists with another function")
        if present is None:
            index = FunctionIndex(name, function, self.loop_time)
            with self._lock:
                self._fill(index)
                self._all_indexes = (*self._all_indexes, index)
                self._function_indexes[name] = index

    def _header_index(self, home: dict[str, Index[R]], name: str, fresh: Index[R]) -> Index[R]:
        found = home.get(name)
        if found is not None:
            return found
        with self._lock:
            if name not in home:
                self._fill(fresh)
                # Before function indexes: an index function that reads the store then finds this index up to date.
                self._all_indexes = (fresh, *self._all_indexes)
                home[name] = fresh
            return home[name]

    def _fill(self, index: Index[R]) -> None:
        for key, snapshot in self._snapshots.items():
            index.change(key, None, snapshot)


def matches(snapshot: Snapshot[R], namespace: str | None, selector: Selector | None) -> bool:
    """Returns whether a snapshot is in the namespace and the selector matches it. None matches everything."""
    if namespace is not None and snapshot.key.namespace != namespace:
        return False
    return selector is None or selector.matches(snapshot.labels)
