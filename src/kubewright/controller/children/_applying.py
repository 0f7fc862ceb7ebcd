"""`ChildApplier`: applies a set of children, and prunes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, Protocol, TypeVar

import msgspec

from kubewright.api import ConditionStatus, Object
from kubewright.controller.children._order import Child, ChildKey, PlacedChild, in_order
from kubewright.controller.children._record import ChildRecord
from kubewright.controller.readiness import Readiness, readiness_of

__all__ = ["ChildApplier", "Children"]

O = TypeVar("O", bound=Object)  # noqa: E741

_NAMED: Final = 3


class ChildBackend(Protocol):
    """What `ChildApplier` needs of a reconcile."""

    paused_until: float | None

    def child_key(self, obj: Object) -> ChildKey:
        """Returns the key of an object, in its own namespace or that of the reconciled object."""

    async def apply(self, obj: O, *, adopt: bool, owned: bool, release: Sequence[str]) -> O:
        """See `Context.apply`."""

    def set_condition(self, type_: str, status: bool | ConditionStatus, reason: str, message: str) -> bool:
        """See `Context.set_condition`."""


class Children(msgspec.Struct, frozen=True):
    """The result of `ctx.apply_all`."""

    objects: list[Object]
    """The current states of the children that were applied, in the order in which they were applied."""
    progress: dict[str, Readiness]
    """The readiness of each child, by kind and name: `Deployment default/web`. Children that wait are `InProgress`."""
    pruned: int = 0
    """The number of deleted children."""

    @property
    def ready(self) -> bool:
        """Whether every child is applied and ready."""
        return all(one.ready for one in self.progress.values())

    @property
    def failed(self) -> bool:
        """Whether a child will not become ready without a change."""
        return any(one.state == "Failed" for one in self.progress.values())

    @property
    def message(self) -> str:
        """What is missing, in one line: `1 of 2 children are ready; Deployment default/web: available: 1/3`."""
        missing = [f"{name}: {one.message}" for name, one in self.progress.items() if not one.ready]
        total, ready = len(self.progress), len(self.progress) - len(missing)
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        return "; ".join([f"{ready} of {total} children are ready", *missing[:_NAMED]]) + more


class ChildApplier:
    """Applies one set of children for one reconcile. `prune` deletes what is left over, and returns the number."""

    def __init__(self, backend: ChildBackend, record: ChildRecord, prune: Callable[[], Awaitable[int]] | None) -> None:
        self._backend = backend
        self._record = record
        self._prune = prune

    async def apply(self, children: Iterable[Object | Child[Any]], condition: str | None) -> Children:
        """Applies the children in order, prunes if all were applied, and sets the condition."""
        order = in_order(children, self._backend.child_key)
        found: dict[ChildKey, Readiness] = {}
        objects: list[Object] = []
        for placed in order:
            if (waits := [key for key in placed.after if not found[key].ready]) != []:
                found[placed.key] = Readiness("InProgress", "Waiting", f"waits for {', '.join(map(str, waits))}")
                continue
            state = await self._backend.apply(placed.child.object, **placed.child.options)
            objects.append(state)
            found[placed.key] = _readiness_of(placed, state)
        pruned = 0
        if len(objects) == len(order) and self._backend.paused_until is None:
            self._record.complete = True
            if self._prune is not None:
                pruned = await self._prune()
        result = Children(objects, {str(key): one for key, one in found.items()}, pruned)
        if condition is not None:
            reason = "Ready" if result.ready else "Failed" if result.failed else "Progressing"
            self._backend.set_condition(condition, result.ready, reason, result.message)
        return result


def _readiness_of(placed: PlacedChild, state: Object) -> Readiness:
    ready = placed.child.ready
    if ready is None:
        return readiness_of(state)
    return Readiness("Current") if ready(state) else Readiness("InProgress", "NotReady", "is not ready")
