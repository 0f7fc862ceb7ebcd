"""Indexes: which keys have a value, kept in step with the store.

A `HeaderIndex` reads its values off the snapshots' headers. A `FunctionIndex` asks a function of the user's, over the
decoded object, and remembers its answers: the function may not give the same one twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from kubewright.api import Object
from kubewright.cache._key import ObjectKey
from kubewright.cache._snapshot import Snapshot
from kubewright.user_code import has_to_pass

__all__ = ["FunctionIndex", "HeaderIndex", "Index", "IndexFunction", "by_label", "by_namespace", "by_owner"]

logger = logging.getLogger("kubewright.cache")

R = TypeVar("R", bound=Object)

IndexFunction: TypeAlias = Callable[[R], Iterable[str] | None]
"""The values under which an object is found in an index: none, one or many; a text alone is one, and None is none. Must
be quick: the watch waits for it."""

HeaderFunction: TypeAlias = Callable[[Snapshot[Any]], Sequence[str]]


class Index(Generic[R]):
    """From values to keys. Written by the event loop's thread under the store's lock, read by any without one.

    Most values have one key (the child of an owner): a set for each of them would take more memory than all else.
    """

    def __init__(self) -> None:
        self._keys: dict[str, ObjectKey | set[ObjectKey]] = {}

    def values_of(self, snapshot: Snapshot[R]) -> Sequence[str]:
        """The values of a snapshot that is not, or not yet, in the index."""
        raise NotImplementedError

    def change(self, key: ObjectKey, old: Snapshot[R] | None, new: Snapshot[R] | None) -> None:
        """Keep in step: the object of this key was `old` and is `new`."""
        raise NotImplementedError

    def keys(self, value: str) -> list[ObjectKey]:
        """The keys that have this value, in no order."""
        found = self._keys.get(value)
        if found is None:
            return []
        return [found] if isinstance(found, ObjectKey) else list(found)

    def count(self, value: str) -> int:
        """How many keys have this value."""
        found = self._keys.get(value)
        return 0 if found is None else 1 if isinstance(found, ObjectKey) else len(found)

    def as_dict(self) -> Mapping[str, set[ObjectKey]]:
        """A copy of everything, for introspection and tests."""
        return {value: set(self.keys(value)) for value in list(self._keys)}

    def _move(self, key: ObjectKey, old: Sequence[str], new: Sequence[str]) -> None:
        if old == new:
            return
        for value in old:
            if value not in new:
                self._remove(value, key)
        for value in new:
            if value not in old:
                self._add(value, key)

    def _add(self, value: str, key: ObjectKey) -> None:
        found = self._keys.get(value)
        if found is None:
            self._keys[value] = key
        elif isinstance(found, ObjectKey):
            if found != key:
                self._keys[value] = {found, key}
        else:
            found.add(key)

    def _remove(self, value: str, key: ObjectKey) -> None:
        found = self._keys.get(value)
        if isinstance(found, set):
            found.discard(key)
            if found:
                return
        self._keys.pop(value, None)


class HeaderIndex(Index[R]):
    """An index over the header."""

    def __init__(self, function: HeaderFunction) -> None:
        super().__init__()
        self._function = function

    def values_of(self, snapshot: Snapshot[R]) -> Sequence[str]:
        """What the header says."""
        return self._function(snapshot)

    def change(self, key: ObjectKey, old: Snapshot[R] | None, new: Snapshot[R] | None) -> None:
        """Keep in step."""
        self._move(key, () if old is None else self._function(old), () if new is None else self._function(new))


class FunctionIndex(Index[R]):
    """An index over the object. An object for which the function fails has no values, and the log says why."""

    def __init__(self, name: str, function: IndexFunction[R]) -> None:
        super().__init__()
        self.name = name
        self.function = function
        self._values: dict[ObjectKey, tuple[str, ...]] = {}

    def values_of(self, snapshot: Snapshot[R]) -> tuple[str, ...]:
        """What the function says."""
        try:
            return _texts(self.function(snapshot.object()))
        except BaseException as error:  # the function is the user's, and the object may not decode
            if has_to_pass(error):
                raise
            logger.warning("%s is not in the index %r: %s: %s", snapshot, self.name, type(error).__name__, error)
            return ()

    def change(self, key: ObjectKey, old: Snapshot[R] | None, new: Snapshot[R] | None) -> None:
        """Keep in step."""
        before = self._values.pop(key, ())
        after = () if new is None else self.values_of(new)
        if after:
            self._values[key] = after
        self._move(key, before, after)


def _texts(found: object) -> tuple[str, ...]:
    """What an index function has answered. A text is an iterable of its letters, which nobody means."""
    if found is None:
        return ()
    values = (found,) if isinstance(found, str) or not isinstance(found, Iterable) else tuple(dict.fromkeys(found))
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"the function of an index answers texts, not {type(value).__name__}: give str(...) of it")
    return values


def by_namespace(snapshot: Snapshot[Any]) -> Sequence[str]:
    """The namespace."""
    return (snapshot.key.namespace,)


def by_owner(snapshot: Snapshot[Any]) -> Sequence[str]:
    """The uids of the owners."""
    return tuple(owner.uid for owner in snapshot.owners)


def by_label(label: str) -> HeaderFunction:
    """The value of one label."""

    def value(snapshot: Snapshot[Any]) -> Sequence[str]:
        return tuple(value for key, value in snapshot.label_items if key == label)

    return value
