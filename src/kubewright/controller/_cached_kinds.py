"""`CachedKinds`: the informers of an operator, by kind."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any, TypeVar

from kubewright.api import Object, info_of
from kubewright.cache import IndexFunction, Informer, Labels, ObjectKey, Snapshot, selector_of

__all__ = ["CachedKinds", "NotCached"]

O = TypeVar("O", bound=Object)  # noqa: E741


class NotCached(LookupError):
    """A kind was read from the cache that nobody asked to be cached."""


class CachedKinds:
    """The informers of an operator, by kind. It is the `Reader` of map functions and the `CacheView` of `Applier`."""

    def __init__(self, namespaces: Iterable[str] = ()) -> None:
        self._namespaces = frozenset(namespaces)
        self._by_kind: dict[type[Object], dict[str, Informer[Any]]] = {}

    def add(self, kind: type[O], labels: Labels | None, informer: Informer[O]) -> None:
        """Note an informer. Reads go to the one without a label selector, if there is one."""
        text = _text(labels)
        informers = self._by_kind.setdefault(kind, {})
        informers[text] = informer
        if not text:
            self._by_kind[kind] = {text: informer} | informers

    def find(self, kind: type[O], labels: Labels | None = None) -> Informer[O]:
        """The informer of that kind with that label selector, which must have been added."""
        return self._by_kind[kind][_text(labels)]

    def all(self, kind: type[O]) -> Iterable[Informer[O]]:
        """Every informer of that kind, the one for reads first."""
        return self._by_kind.get(kind, {}).values()

    def informer(self, kind: type[O]) -> Informer[O]:
        """The informer that reads of this kind go to."""
        for informer in self.all(kind):
            return informer
        info_of(kind)  # or TypeError: this is no kind at all
        raise NotCached(
            f"{kind.__name__} is not cached: add reads=[{kind.__name__}] (or owns=, watches=) to the reconciler, "
            f"or ask the server with ctx.client.get({kind.__name__}, ...)"
        )

    def add_index(self, kind: type[O], name: str, function: IndexFunction[O]) -> None:
        """One more index over a kind, which must be cached."""
        self.informer(kind)  # or NotCached
        for informer in self.all(kind):
            informer.add_index(name, function)

    # As a Reader

    def read(self, kind: type[O], name: str, namespace: str | None = None) -> O | None:
        """One object as the cache has it, or None."""
        return self.informer(kind).lister.get(name, namespace or "")

    def list(self, kind: type[O], namespace: str | None = None, labels: Labels | None = None) -> list[O]:
        """The objects of a kind as the cache has them."""
        return self.informer(kind).lister.list(namespace, labels)

    def by_index(self, kind: type[O], index: str, value: str) -> builtins.list[O]:
        """The objects of a kind that have this value in an index. KeyError names the indexes that there are."""
        return self.informer(kind).lister.by_index(index, value)

    # As a CacheView

    def covers(self, kind: type[Object], namespace: str) -> bool:
        """Whether every object of the kind in the namespace is cached."""
        if "" not in self._by_kind.get(kind, {}):
            return False
        return not self._namespaces or not info_of(kind).namespaced or namespace in self._namespaces

    def get(self, kind: type[O], key: ObjectKey) -> Snapshot[O] | None:
        """The newest state that is known of an object, of a kind that may not be cached at all."""
        for informer in self.all(kind):
            if (snapshot := informer.lister.snapshot(key)) is not None:
                return snapshot
        return None

    def controlled_by(self, kind: type[O], uid: str) -> Iterable[Snapshot[O]]:
        """The objects whose controller has this uid."""
        owned = self.informer(kind).lister.snapshots_by_index("owner", uid)
        return [snapshot for snapshot in owned if (owner := snapshot.controller) is not None and owner.uid == uid]

    def written(self, obj: Object) -> None:
        """Let every cache of the kind show what was just written, before the watch delivers it."""
        for informer in self.all(type(obj)):
            informer.written(obj)

    def removed(self, kind: type[Object], key: ObjectKey, uid: str) -> None:
        """Let every cache of the kind hide an object whose deletion was just asked for."""
        for informer in self.all(kind):
            informer.removed(key, uid)


def _text(labels: Labels | None) -> str:
    selector = selector_of(labels)
    return "" if selector is None else str(selector)
