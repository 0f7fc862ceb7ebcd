"""`Pausing`: objects that a user has paused with an annotation.

A paused object is not reconciled: the worker that takes its key drops it. Its timers and daemons stop, and its
finalizers do not run, so a deletion waits. A reconcile that is running when the object is paused ends normally.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec

from kubewright.api import DecodeError, Object
from kubewright.api.kinds import status_names
from kubewright.cache import Change, ObjectKey, Snapshot
from kubewright.causes import error_text
from kubewright.client import Forbidden, Invalid, NotFound
from kubewright.controller._context_backend import ContextBackend
from kubewright.controller._reconcile import NotDeclared
from kubewright.controller.status import StatusWriter
from kubewright.lru import LRUMemory
from kubewright.pausing import PAUSED, PAUSED_BY_ANNOTATION, pause_of

__all__ = ["Pausing"]

R = TypeVar("R", bound=Object)

_REPORTED: Final = 10_000
_MARK: Final = f'"{PAUSED_BY_ANNOTATION}"'.encode()
_FOR_GOOD: Final = (Forbidden, Invalid, NotFound, NotDeclared, TypeError, DecodeError)


class Pausing(Generic[R]):
    """The paused objects of one controller. Costs a search in the bytes of each change.

    `shows_condition` is True for one controller of each kind, so that the condition has one writer.
    """

    def __init__(
        self,
        kind: type[R],
        annotation: str,
        lookup: Callable[[ObjectKey], Snapshot[R] | None],
        *,
        shows_condition: bool,
    ) -> None:
        self._annotation = annotation
        self._needle = f'"{annotation}"'.encode()
        self._lookup = lookup
        self._has_condition = shows_condition and _has_conditions(kind)
        self._paused: set[ObjectKey] = set()
        self._reported = False
        self._waiting: LRUMemory[str, bool] = LRUMemory(_REPORTED)

    def __len__(self) -> int:
        return len(self._paused)

    def __contains__(self, key: ObjectKey) -> bool:
        return key in self._paused

    def see(self, change: Change[R]) -> Literal["paused", "resumed"] | None:
        """Notes a change. Returns whether it pauses or resumes the object."""
        key, is_paused = change.key, change.new is not None and bool(self._pause_in(change.new))
        if is_paused == (key in self._paused):
            return None
        if is_paused:
            self._paused.add(key)
            return "paused"
        self._paused.discard(key)
        return "resumed" if change.new is not None else None

    def reason(self, key: ObjectKey) -> str:
        """Returns which annotation pauses the object, and that its deletion waits; empty if it is not paused."""
        snapshot = self._lookup(key) if key in self._paused else None
        if snapshot is None:
            return ""
        waits = "; its deletion waits until it is resumed" if snapshot.deleting else ""
        return f"by the annotation {self._pause_in(snapshot)}{waits}"

    async def show(self, backend: ContextBackend[R], finalizers: set[str]) -> bool:
        """Sets the condition of a paused object, and records that its deletion waits for these finalizers.

        Returns False if the condition could not be written now. Never raises: a pause is not a failure.
        """
        snapshot = self._lookup(backend.key)
        if snapshot is None:
            return True
        self._record_deletion(backend, snapshot, finalizers)
        if not self._has_condition:
            return True
        message = f"Paused by the annotation {self._pause_in(snapshot)}. Remove it to resume."
        try:
            StatusWriter(backend).set_condition(PAUSED, True, PAUSED_BY_ANNOTATION, message)
            await backend.flush()
        except _FOR_GOOD as error:
            level, self._reported = logging.DEBUG if self._reported else logging.INFO, True
            backend.log.log(level, "the condition %s cannot be written: %s", PAUSED, error_text(error))
        except Exception:  # a conflict, or a server that is not reachable
            return False
        return True

    def clear(self, backend: ContextBackend[R], snapshot: Snapshot[R]) -> None:
        """Removes the condition of an object that is no longer paused. The reconcile writes it with its own ones."""
        if not self._has_condition or _MARK not in snapshot.raw:
            return
        content = msgspec.json.decode(snapshot.raw, type=dict[str, Any])
        conditions = (content.get("status") or {}).get("conditions") or ()
        if any(one.get("type") == PAUSED and one.get("reason") == PAUSED_BY_ANNOTATION for one in conditions):
            with contextlib.suppress(TypeError):  # the status cannot be written before the reconciler has written it
                StatusWriter(backend).remove_condition(PAUSED)

    def _pause_in(self, snapshot: Snapshot[R]) -> str:
        if self._needle not in snapshot.raw:
            return ""
        try:
            return pause_of(snapshot.annotations, self._annotation)
        except msgspec.DecodeError:
            return ""

    def _record_deletion(self, backend: ContextBackend[R], snapshot: Snapshot[R], finalizers: set[str]) -> None:
        waits_for = sorted(finalizers.intersection(snapshot.finalizers)) if snapshot.deleting and finalizers else []
        if not waits_for or self._waiting.put(snapshot.uid, True) is not None:
            return
        message = (
            f"The deletion waits for {', '.join(waits_for)}, because the object is paused by the annotation"
            f" {self._pause_in(snapshot)}. Remove the annotation to resume."
        )
        backend.log.warning("%s", message)
        with contextlib.suppress(Exception):  # an event never fails a reconcile
            backend.record("DeletionPaused", message, "Warning", "Finalize")


def _has_conditions(kind: type[Object]) -> bool:
    """Returns whether a custom kind has conditions in its status. Kubernetes owns the status of built-in kinds."""
    names = status_names(kind) if hasattr(kind, "__definition__") else None
    return names is not None and "conditions" in names
