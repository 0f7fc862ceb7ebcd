"""`Lister`: reading a cache."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from kubewright.api import DecodeError, Object, Selector, collection_paused
from kubewright.cache._key import ObjectKey
from kubewright.cache._store import OWNER_INDEX

if TYPE_CHECKING:
    from kubewright.cache._overlay import Overlay
    from kubewright.cache._snapshot import Snapshot

__all__ = ["Labels", "Lister", "selector_of"]

R = TypeVar("R", bound=Object)

Labels: TypeAlias = str | Selector | Mapping[str, str]
"""A label selector: its text, the object, or the labels that an object must have."""


_LONG: Final = 500


def selector_of(labels: Labels | None) -> Selector | None:
    """The selector that is meant; None for one that selects everything."""
    if labels is None or isinstance(labels, Selector):
        selector = labels
    elif isinstance(labels, str):
        selector = Selector.parse(labels)
    elif isinstance(labels, Mapping):
        selector = Selector.from_labels(labels)
    else:
        given = type(labels).__name__
        raise TypeError(f'labels is a label selector, such as "app=web" or {{"app": "web"}}, not {given}')
    return None if selector is None or selector.selects_everything else selector


def _check_texts(*given: object) -> None:
    """A key in the place of a name would find nothing, as if the object had gone."""
    for one in given:
        if not isinstance(one, str):
            found = type(one).__name__
            raise TypeError(f"name and namespace are texts, not {found}: of a key, give key.name and key.namespace")


class Lister(Generic[R]):
    """Reads the objects of one kind from the cache: plain calls, no I/O, safe from any thread.

    Every object is fresh and belongs to the caller alone; changing it changes nothing else. Reads see what this program
    has written itself, also before the watch delivers it. Apart from that a cache lags behind the server, mostly by
    milliseconds. Lists are ordered by namespace and name.

    An object that does not fit its model fails alone: `get` raises `DecodeError`; lists leave it out, log it once for
    each of its states, and count it in the informer's `health`.
    """

    def __init__(self, view: Overlay[R], on_undecodable: Callable[[Snapshot[R], DecodeError], None]) -> None:
        self._view = view
        self._on_undecodable = on_undecodable

    def __len__(self) -> int:
        return self._view.count()

    def get(self, name: str, namespace: str = "") -> R | None:
        """One object, or None when it is not there. Raises `DecodeError` when it does not fit its model."""
        _check_texts(name, namespace)
        return self.get_key(ObjectKey(namespace, name))

    def get_key(self, key: tuple[str, str]) -> R | None:
        """The same, by its key."""
        snapshot = self.snapshot(key)
        return None if snapshot is None else snapshot.object()

    def snapshot(self, key: tuple[str, str]) -> Snapshot[R] | None:
        """The header and bytes of one object, undecoded."""
        return self._view.get(key if isinstance(key, ObjectKey) else ObjectKey(*key))

    def list(self, namespace: str | None = None, labels: Labels | None = None) -> builtins.list[R]:
        """The objects in one namespace, or in all, that the selector matches."""
        if namespace is not None and not isinstance(namespace, str):
            raise TypeError(f"a namespace is a text, not {type(namespace).__name__}: labels go into labels=")
        return self._whole(self._view.select(namespace, selector_of(labels)))

    def iterate(self, namespace: str | None = None, labels: Labels | None = None) -> Iterator[R]:
        """The same, each decoded when its turn comes: which objects they are, and their states, is decided now."""
        return self._objects(self._view.select(namespace, selector_of(labels)))

    def snapshots(self, namespace: str | None = None, labels: Labels | None = None) -> builtins.list[Snapshot[R]]:
        """The same undecoded: the quickest way to count, or to look at names, labels and owners."""
        return self._view.select(namespace, selector_of(labels))

    def keys(self, namespace: str | None = None, labels: Labels | None = None) -> builtins.list[ObjectKey]:
        """The keys of the same."""
        return [snapshot.key for snapshot in self._view.select(namespace, selector_of(labels))]

    def by_index(self, index: str, value: str) -> builtins.list[R]:
        """The objects that have this value in an index. Raises KeyError that names the indexes there are."""
        return self._whole(self._view.by_index(index, value))

    def by_owner(self, uid: str) -> builtins.list[R]:
        """The objects that name the owner with this uid."""
        return self.by_index(OWNER_INDEX, uid)

    def snapshots_by_index(self, index: str, value: str) -> builtins.list[Snapshot[R]]:
        """What `by_index` finds, undecoded."""
        return self._view.by_index(index, value)

    def _whole(self, snapshots: builtins.list[Snapshot[R]]) -> builtins.list[R]:
        if len(snapshots) < _LONG:
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
