"""Predicates: which changes of an object trigger a reconcile.

A predicate is any function of a `Change` that returns a bool. Predicates can be combined with `&`, `|` and `~`, also
with functions: `generation_changed | labels_changed`, `predicate(mine) & ~annotations_changed`. The keywords `and`,
`or` and `not` raise TypeError: Python would reduce `a and b` to `b`.

The `…_changed` predicates filter updates. New and deleted objects, and resyncs, always pass them. (So
`~generation_changed` passes none of them, as in controller-runtime.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from kubewright.cache import Change, Snapshot
from kubewright.signatures import can_take, is_async, name_of

__all__ = [
    "Predicate",
    "PredicateFunction",
    "annotations_changed",
    "generation_changed",
    "labels_changed",
    "predicate",
    "resource_version_changed",
]

# Any: a predicate that reads only metadata fits every kind.
PredicateFunction: TypeAlias = Callable[[Change[Any]], bool]


class Predicate:
    """A function of a `Change` that can be combined with others."""

    __slots__ = ("_function", "_name")

    def __init__(self, function: PredicateFunction, name: str | None = None) -> None:
        if not callable(function):
            raise TypeError(f"a predicate must be a function of a Change that returns a bool, not {function!r}")
        if not can_take(function, 1):
            raise TypeError(f"the predicate {name_of(function)} must take one argument, the Change")
        if is_async(function):
            raise TypeError(f"the predicate {name_of(function)} is async: make it a plain def, which must not wait")
        self._function = function
        self._name: str = name or str(getattr(function, "__name__", None) or repr(function))

    def __call__(self, change: Change[Any]) -> bool:
        """Returns whether the change triggers a reconcile."""
        return self._function(change)

    def __and__(self, other: PredicateFunction) -> Predicate:
        also = predicate(other)
        return Predicate(lambda change: self(change) and also(change), f"({self} & {also})")

    def __or__(self, other: PredicateFunction) -> Predicate:
        also = predicate(other)
        return Predicate(lambda change: self(change) or also(change), f"({self} | {also})")

    def __rand__(self, other: PredicateFunction) -> Predicate:
        return predicate(other) & self

    def __ror__(self, other: PredicateFunction) -> Predicate:
        return predicate(other) | self

    def __invert__(self) -> Predicate:
        return Predicate(lambda change: not self(change), f"~{self}")

    def __bool__(self) -> bool:
        raise TypeError(
            f"the predicate {self} is neither true nor false by itself: combine predicates with &, | and ~, as in"
            " a & b; Python reduces `a and b` to b, and `a or b` to a"
        )

    def __repr__(self) -> str:
        return self._name


def predicate(function: PredicateFunction) -> Predicate:
    """Makes a predicate of a function, so that it can be combined. Also usable as a decorator."""
    return function if isinstance(function, Predicate) else Predicate(function)


def _update_of(name: str, differs: Callable[[Snapshot[Any], Snapshot[Any]], bool]) -> Predicate:
    def passes(change: Change[Any]) -> bool:
        if change.type != "updated" or change.old is None or change.new is None:
            return True
        return differs(change.old, change.new)

    return Predicate(passes, name)


generation_changed = _update_of("generation_changed", lambda old, new: old.generation != new.generation)
"""The spec was changed, or the deletion requested; not only the status or metadata. Some built-in kinds have no
generation: updates of a ConfigMap or Secret never pass."""

labels_changed = _update_of("labels_changed", lambda old, new: old.label_items != new.label_items)
"""A label was added, changed or removed."""

annotations_changed = _update_of("annotations_changed", lambda old, new: old.annotations != new.annotations)
"""An annotation was added, changed or removed."""

resource_version_changed = _update_of(
    "resource_version_changed", lambda old, new: old.resource_version != new.resource_version
)
"""Anything was changed."""
