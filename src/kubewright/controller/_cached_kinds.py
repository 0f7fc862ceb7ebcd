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
    """A kind was read from the cache that is not declared in `owns`, `watches` or `reads`."""


class CachedKinds:
    """The informers of an operator, by kind. It is the `Reader` of map functions and the `CacheView` of `Applier`."""

    def __init__(self, namespaces: Iterable[str] = ()) -> None:
        self._namespaces = frozenset(namespaces)
        self._by_kind: dict[type[Object], dict[str, Informer[Any]]] = {}

    def add(self, kind: type[O], labels: Labels | None, informer: Informer[O]) -> None:
        """Adds an informer. Reads use the one without a label selector, if there is one."""
        selector = _selector(labels)
        informers = self._by_kind.setdefault(kind, {})
        informers[selector] = informer
        if not selector:
            self._by_kind[kind] = {selector: informer} | informers

    def find(self, kind: type[O], labels: Labels | None = None) -> Informer[O]:
        """Returns the informer of that kind with that label selector, which must have been added."""
        return self._by_kind[kind][_selector(labels)]

    def all(self, kind: type[O]) -> Iterable[Informer[O]]:
        """Returns the informers of that kind, the one for reads first."""
        return self._by_kind.get(kind, {}).values()

    def informer(self, kind: type[O]) -> Informer[O]:
        """Returns the informer for reads of this kind."""
        for informer in self.all(kind):
            return informer
        info_of(kind)  # raises TypeError for a class that is not a kind
        raise NotCached(
            f"{kind.__name__} is not cached: add reads=[{kind.__name__}] (or owns=, watches=) to the reconciler, "
            f"or read from the server with ctx.client.get({kind.__name__}, ...)"
        )

    def add_index(self, kind: type[O], name: str, function: IndexFunction[O]) -> None:
        """Adds an index over a kind, which must be cached."""
        self.informer(kind)  # raises NotCached
        for informer in self.all(kind):
            informer.add_index(name, function)

    # As a Reader

    def read(self, kind: type[O], name: str, namespace: str | None = None) -> O | None:
        """Returns one cached object, or None."""
        return self.informer(kind).lister.get(name, namespace or "")

    def list(self, kind: type[O], namespace: str | None = None, labels: Labels | None = None) -> list[O]:
        """Returns the cached objects of a kind."""
        return self.informer(kind).lister.list(namespace, labels)

    def by_index(self, kind: type[O], index: str, value: str, namespace: str | None = None) -> builtins.list[O]:
        """Returns the cached objects with this value in an index. Raises KeyError with the known indexes."""
        return self.informer(kind).lister.by_index(index, value, namespace)

    # As a CacheView

    def covers(self, kind: type[Object], namespace: str) -> bool:
        """Returns whether every object of the kind in the namespace is cached."""
        if "" not in self._by_kind.get(kind, {}):
            return False
        return not self._namespaces or not info_of(kind).namespaced or namespace in self._namespaces

    def get(self, kind: type[O], key: ObjectKey) -> Snapshot[O] | None:
        """Returns the newest known state of an object; None if its kind is not cached."""
        for informer in self.all(kind):
            if (snapshot := informer.lister.snapshot(key)) is not None:
                return snapshot
        return None

    def controlled_by(self, kind: type[O], uid: str) -> Iterable[Snapshot[O]]:
        """Returns the objects whose controller has this uid."""
        owned = self.informer(kind).lister.snapshots_by_index("owner", uid)
        return [snapshot for snapshot in owned if (owner := snapshot.controller) is not None and owner.uid == uid]

    def written(self, obj: Object) -> None:
        """Shows a write in every cache of the kind before the watch delivers it."""
        for informer in self.all(type(obj)):
            informer.written(obj)

    def removed(self, kind: type[Object], key: ObjectKey, uid: str) -> None:
        """Hides an object in every cache of the kind after its deletion was requested."""
        for informer in self.all(kind):
            informer.removed(key, uid)


def _selector(labels: Labels | None) -> str:
    selector = selector_of(labels)
    return "" if selector is None else str(selector)
