"""`ChildApplier`: applies a set of children, and prunes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, Protocol, TypeVar

import msgspec

from kubewright.api import ConditionStatus, Object
from kubewright.causes import error_text
from kubewright.controller._reconcile import TerminalError
from kubewright.controller.children._order import Child, ChildKey, PlacedChild, in_order
from kubewright.controller.children._record import ChildRecord
from kubewright.controller.readiness import Readiness, readiness_of
from kubewright.tasks import cancel_and_wait

__all__ = ["ChildApplier", "Children"]

O = TypeVar("O", bound=Object)  # noqa: E741

_NAMED: Final = 3
_CONCURRENT: Final = 8
"""Children of one reconcile that are applied at the same time."""


class ChildBackend(Protocol):
    """The part of a reconcile that `ChildApplier` uses."""

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
    """Applies one set of children for one reconcile. `prune` deletes leftover children, and returns their number."""

    def __init__(self, backend: ChildBackend, record: ChildRecord, prune: Callable[[], Awaitable[int]] | None) -> None:
        self._backend = backend
        self._record = record
        self._prune = prune

    async def apply(self, children: Iterable[Object | Child[Any]], condition: str | None) -> Children:
        """Applies the children in order, prunes if all were applied, and sets the condition."""
        groups = in_order(children, self._backend.child_key)
        found: dict[ChildKey, Readiness] = {}
        objects: list[Object] = []
        for group in groups:
            free = []
            for placed in group:
                if waits := [str(key) for key in placed.after if not found[key].ready]:
                    found[placed.key] = Readiness("InProgress", "Waiting", f"waits for {', '.join(waits)}")
                else:
                    free.append(placed)
            for placed, state in zip(free, await self._apply_group(free), strict=True):
                objects.append(state)
                found[placed.key] = _readiness_of(placed, state)
        pruned = 0
        if len(objects) == sum(map(len, groups)) and self._backend.paused_until is None:
            self._record.complete = True
            if self._prune is not None:
                pruned = await self._prune()
        result = Children(objects, {str(key): one for key, one in found.items()}, pruned)
        if condition is not None:
            reason = "Ready" if result.ready else "Failed" if result.failed else "Progressing"
            self._backend.set_condition(condition, result.ready, reason, result.message)
        return result

    async def _apply_group(self, group: list[PlacedChild]) -> list[Object]:
        """Applies independent children, a few at a time. Raises one error after all of them have ended.

        Another task is started only if there is a second child, and it runs only while a request is sent. So a group
        without changes costs little.
        """
        results: dict[ChildKey, Object | Exception] = {}
        waiting = deque(group)

        async def work(helpers: int) -> None:
            helper = asyncio.create_task(work(helpers - 1)) if helpers and len(waiting) > 1 else None
            try:
                while waiting:
                    placed = waiting.popleft()
                    try:
                        results[placed.key] = await self._backend.apply(placed.child.object, **placed.child.options)
                    except Exception as error:
                        results[placed.key] = error
                if helper is not None:
                    await helper
            except BaseException:  # the reconcile is cancelled, or ends with the process
                waiting.clear()
                if helper is not None:
                    await cancel_and_wait(helper)
                raise

        await work(_CONCURRENT - 1)
        if failed := {key: one for key, one in results.items() if isinstance(one, Exception)}:
            raise _one_error(failed)
        return [state for placed in group if isinstance(state := results[placed.key], Object)]


def _one_error(failed: dict[ChildKey, Exception]) -> Exception:
    """Returns the error to raise: one that is retried, if there is one. Its notes name the others."""
    raised = next((one for one in failed.values() if not isinstance(one, TerminalError)), None)
    raised = raised or next(iter(failed.values()))
    for key, other in failed.items():
        if other is not raised:
            raised.add_note(f"{key} failed, too: {error_text(other)}")
    return raised


def _readiness_of(placed: PlacedChild, state: Object) -> Readiness:
    ready = placed.child.ready
    if ready is None:
        return readiness_of(state)
    return Readiness("Current") if ready(state) else Readiness("InProgress", "NotReady", "is not ready")
