"""`Lister`: reads a cache."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from kubewright.api import DecodeError, Object, collection_paused
from kubewright.cache._arguments import Labels, selector_of
from kubewright.cache._key import OWNER_INDEX, ObjectKey

if TYPE_CHECKING:
    from kubewright.cache._overlay import Overlay
    from kubewright.cache._snapshot import Snapshot

__all__ = ["Lister"]

R = TypeVar("R", bound=Object)

_LARGE_LIST: Final = 500


def _check_strings(*given: object) -> None:
    """Rejects a key in place of a name, which would find nothing, as if the object were gone."""
    for one in given:
        if not isinstance(one, str):
            found = type(one).__name__
            raise TypeError(f"name and namespace are strings, not {found}: for a key, pass key.name and key.namespace")


class Lister(Generic[R]):
    """Reads the objects of one kind from the cache: plain calls, no I/O, safe from any thread.

    Every object is new and belongs to the caller; changing it affects nothing else. Reads include this program's own
    writes, also before the watch delivers them. Otherwise a cache lags behind the server, usually by milliseconds.
    Lists are sorted by namespace and name.

    An object that does not fit its model does not affect others: `get` raises `DecodeError`; lists leave it out, log it
    once for each of its states, and count it in the informer's `health`.
    """

    def __init__(self, view: Overlay[R], on_undecodable: Callable[[Snapshot[R], DecodeError], None]) -> None:
        self._view = view
        self._on_undecodable = on_undecodable

    def __len__(self) -> int:
        return self._view.count()

    def get(self, name: str, namespace: str = "") -> R | None:
        """Returns one object, or None. Raises `DecodeError` if it does not fit its model."""
        _check_strings(name, namespace)
        return self.get_key(ObjectKey(namespace, name))

    def get_key(self, key: tuple[str, str]) -> R | None:
        """Returns the object of a key, or None. Raises `DecodeError` if it does not fit its model."""
        snapshot = self.snapshot(key)
        return None if snapshot is None else snapshot.object()

    def snapshot(self, key: tuple[str, str]) -> Snapshot[R] | None:
        """Returns the header and the JSON of one object, undecoded."""
        return self._view.get(key if isinstance(key, ObjectKey) else ObjectKey(*key))

    def list(self, namespace: str | None = None, labels: Labels | None = None) -> builtins.list[R]:
        """Returns the objects in one namespace, or in all, that the selector matches."""
        if namespace is not None and not isinstance(namespace, str):
            raise TypeError(f"a namespace must be a string, not {type(namespace).__name__}: labels go into labels=")
        return self._whole(self._view.select(namespace, selector_of(labels)))

    def iterate(self, namespace: str | None = None, labels: Labels | None = None) -> Iterator[R]:
        """Yields the objects of `list`, in their states at the time of the call. Decodes each when it is reached."""
        return self._objects(self._view.select(namespace, selector_of(labels)))

    def snapshots(self, namespace: str | None = None, labels: Labels | None = None) -> builtins.list[Snapshot[R]]:
        """Returns the objects of `list` undecoded: the fastest way to count them or to read names, labels, owners."""
        return self._view.select(namespace, selector_of(labels))

    def keys(self, namespace: str | None = None, labels: Labels | None = None) -> builtins.list[ObjectKey]:
        """Returns the keys of the objects of `list`."""
        return [snapshot.key for snapshot in self._view.select(namespace, selector_of(labels))]

    def by_index(self, index: str, value: str, namespace: str | None = None) -> builtins.list[R]:
        """Returns the objects that have this value in an index, in one namespace or in all.

        Raises KeyError, which lists the known indexes.
        """
        found = self._view.by_index(index, value)
        if namespace is not None:
            found = [snapshot for snapshot in found if snapshot.namespace == namespace]
        return self._whole(found)

    def by_owner(self, uid: str) -> builtins.list[R]:
        """Returns the objects that have the owner with this uid."""
        return self.by_index(OWNER_INDEX, uid)

    def snapshots_by_index(self, index: str, value: str) -> builtins.list[Snapshot[R]]:
        """Returns the same as `by_index`, undecoded."""
        return self._view.by_index(index, value)

    def _whole(self, snapshots: builtins.list[Snapshot[R]]) -> builtins.list[R]:
        if len(snapshots) < _LARGE_LIST:
            return [*self._objects(snapshots)]
        with collection_paused():
            return [*self._objects(snapshots)]

    def _objects(self, snapshots: Iterable[Snapshot[R]]) -> Iterator[R]:
        for snapshot in snapshots:
            try:
                made = snapshot.object()
            except DecodeError as error:
                self._on_undecodable(snapshot, error)
            else:
                yield made
