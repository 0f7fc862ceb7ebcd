"""Indexes from values to keys, updated together with the store.

A `HeaderIndex` takes its values from the headers of snapshots. A `FunctionIndex` calls a function of the user with the
decoded object and remembers the result, because the function may not return the same values twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from kubewright.api import Object
from kubewright.cache._arguments import IndexFunction
from kubewright.cache._key import ObjectKey
from kubewright.cache._loop_time import LoopTime
from kubewright.cache._snapshot import Snapshot
from kubewright.user_code import has_to_pass

__all__ = ["FunctionIndex", "HeaderIndex", "Index", "by_label", "by_namespace", "by_owner"]

logger = logging.getLogger("kubewright.cache")

R = TypeVar("R", bound=Object)

HeaderFunction: TypeAlias = Callable[[Snapshot[Any]], Sequence[str]]


class Index(Generic[R]):
    """Maps values to keys. The event loop's thread writes, under the store's lock. Any thread reads, without a lock.

    Most values have one key (the child of an owner). A set for each of them would take more memory than all the rest.
    """

    def __init__(self) -> None:
        self._keys: dict[str, ObjectKey | set[ObjectKey]] = {}

    def values_of(self, snapshot: Snapshot[R]) -> Sequence[str]:
        """Returns the values of a snapshot, which need not be in the index."""
        raise NotImplementedError

    def change(self, key: ObjectKey, old: Snapshot[R] | None, new: Snapshot[R] | None) -> None:
        """Updates the index for an object that was `old` and is `new`."""
        raise NotImplementedError

    def keys(self, value: str) -> list[ObjectKey]:
        """Returns the keys that have this value, in no particular order."""
        found = self._keys.get(value)
        if found is None:
            return []
        return [found] if isinstance(found, ObjectKey) else list(found)

    def count(self, value: str) -> int:
        """Returns how many keys have this value."""
        found = self._keys.get(value)
        return 0 if found is None else 1 if isinstance(found, ObjectKey) else len(found)

    def as_dict(self) -> Mapping[str, set[ObjectKey]]:
        """Returns a copy of the index, for introspection and tests."""
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
    """An index over the header of snapshots."""

    def __init__(self, function: HeaderFunction) -> None:
        super().__init__()
        self._function = function

    def values_of(self, snapshot: Snapshot[R]) -> Sequence[str]:
        """Returns the values of the header."""
        return self._function(snapshot)

    def change(self, key: ObjectKey, old: Snapshot[R] | None, new: Snapshot[R] | None) -> None:
        """Updates the index for an object that was `old` and is `new`."""
        self._move(key, () if old is None else self._function(old), () if new is None else self._function(new))


class FunctionIndex(Index[R]):
    """An index over the decoded object. An object for which the function fails is logged and has no values."""

    def __init__(self, name: str, function: IndexFunction[R], loop_time: LoopTime) -> None:
        super().__init__()
        self.name = name
        self.function = function
        self._loop_time = loop_time
        self._described = f"index function {getattr(function, '__qualname__', None) or repr(function)} of {name!r}"
        self._values: dict[ObjectKey, tuple[str, ...]] = {}

    def values_of(self, snapshot: Snapshot[R]) -> tuple[str, ...]:
        """Calls the function and returns its values."""
        try:
            obj = snapshot.object()
            timer = self._loop_time.timer
            began = timer()
            try:
                return _strings(self.function(obj))
            finally:
                self._loop_time.add(self._described, timer() - began)
        except BaseException as error:  # the function is the user's, and the object may not decode
            if has_to_pass(error):
                raise
            logger.warning("%s is not in the index %r: %s: %s", snapshot, self.name, type(error).__name__, error)
            return ()

    def change(self, key: ObjectKey, old: Snapshot[R] | None, new: Snapshot[R] | None) -> None:
        """Updates the index for an object that was `old` and is `new`."""
        before = self._values.pop(key, ())
        after = () if new is None else self.values_of(new)
        if after:
            self._values[key] = after
        self._move(key, before, after)


def _strings(found: object) -> tuple[str, ...]:
    """Checks the result of an index function. One string is one value, although it is an iterable of letters."""
    if found is None:
        return ()
    values = (found,) if isinstance(found, str) or not isinstance(found, Iterable) else tuple(dict.fromkeys(found))
    for value in values:
        if not isinstance(value, str):
            raise TypeError(
                f"an index function must return strings, not {type(value).__name__}: convert it with str(...)"
            )
    return values


def by_namespace(snapshot: Snapshot[Any]) -> Sequence[str]:
    """Returns the namespace."""
    return (snapshot.key.namespace,)


def by_owner(snapshot: Snapshot[Any]) -> Sequence[str]:
    """Returns the uids of the owners."""
    return tuple(owner.uid for owner in snapshot.owners)


def by_label(label: str) -> HeaderFunction:
    """Returns a function over the value of one label."""

    def value(snapshot: Snapshot[Any]) -> Sequence[str]:
        return tuple(value for key, value in snapshot.label_items if key == label)

    return value
