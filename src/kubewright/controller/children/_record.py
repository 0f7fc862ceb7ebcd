"""`ChildRecord`: the children that one reconcile has applied and pruned; warnings about children that remain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any, Final, Self

import msgspec

from kubewright.api import Object
from kubewright.cache import Snapshot
from kubewright.lru import LRUMemory

__all__ = ["ChildRecord", "LeftoverWarnings", "shared_child_kinds"]

_REMEMBERED: Final = 10_000


class ChildRecord(msgspec.Struct):
    """The children that one reconcile has applied and pruned so far."""

    applied: list[Object] = msgspec.field(default_factory=list)
    """Objects that were applied for the reconciled object."""
    complete: bool = False
    """Whether `apply_all` has applied a whole set without pruning."""
    pruned: set[type[Object]] = msgspec.field(default_factory=set)
    """The kinds that this reconcile has pruned."""
    pruned_set: bool = False
    """Whether `apply_all(prune=True)` has pruned: objects that are applied afterwards would be deleted next time."""

    def with_child(self, child: Object, prunable: Collection[type[Object]]) -> Self:
        """Records that a child is applied. Raises RuntimeError if the next reconcile would delete it."""
        if self.pruned_set and type(child) in prunable:
            raise RuntimeError(
                f"{child} is applied after apply_all(prune=True), which would delete it in the next reconcile: pass it"
                " to apply_all, or apply it before"
            )
        self.applied.append(child)
        return self

    def check_may_prune(
        self,
        kind: type[Object],
        prunable: Collection[type[Object]],
        shared: Collection[tuple[type[Object], type[Object]]],
    ) -> None:
        """Raises RuntimeError if pruning would delete objects that another set has applied."""
        if self.pruned_set:
            raise RuntimeError("apply_all(prune=True) may be called once in a reconcile: pass all children to one call")
        for child in prunable:
            if (kind, child) in shared:
                raise RuntimeError(
                    f"two controllers of {kind.__name__} own {child.__name__}, so pruning for one would delete the"
                    " objects of the other: use ctx.prune(kinds, keep=...) with the objects of both"
                )


class LeftoverWarnings:
    """Remembers which leftover children were reported, in bounded memory."""

    def __init__(self) -> None:
        self._reported: LRUMemory[str, bool] = LRUMemory(_REMEMBERED)

    def new(self, leftovers: Iterable[Snapshot[Any]]) -> list[Snapshot[Any]]:
        """Returns those that were not reported yet."""
        found = [one for one in leftovers if self._reported.peek(one.uid) is None]
        for one in found:
            self._reported.put(one.uid, True)
        return found


def shared_child_kinds(
    owning: Iterable[tuple[type[Object], type[Object]]],
) -> frozenset[tuple[type[Object], type[Object]]]:
    """Returns the pairs of a reconciled kind and an owned kind that several controllers have."""
    return frozenset(pair for pair, count in Counter(owning).items() if count > 1)
