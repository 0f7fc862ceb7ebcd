"""`ControllerView`: the read-only view of a controller, for inspection, metrics and tests."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from kubewright.api import Object, ResourceInfo
from kubewright.cache import HandlerRegistration, Informer, ObjectKey, Snapshot
from kubewright.clock import Clock
from kubewright.controller._cached_kinds import ControllerCaches
from kubewright.controller._enqueuing import Enqueuer
from kubewright.controller._environment import Environment
from kubewright.controller._loop_report import loop_state
from kubewright.controller._pausing import Pausing
from kubewright.controller.registration import Registration, Role
from kubewright.observe import ControllerStats, History, Inspection, inspect
from kubewright.queue import WorkQueue

__all__ = ["ControllerView"]

R = TypeVar("R", bound=Object)


class ControllerView(Generic[R]):
    """A read-only view of a controller and of its objects."""

    name: str
    stats: ControllerStats
    history: History
    queue: WorkQueue[ObjectKey]
    _registration: Registration[R]
    _environment: Environment
    _caches: ControllerCaches
    _informer: Informer[R]
    _enqueuer: Enqueuer
    _pausing: Pausing[R]
    _handlers: list[HandlerRegistration[Any]]
    _is_daemon: bool

    def object_keys(self) -> list[ObjectKey]:
        """Returns the keys of the cached objects."""
        return self._informer.lister.keys()

    @property
    def idle(self) -> bool:
        """Whether no key is ready or running. Keys that are due later do not count, nor do running daemons."""
        return not len(self.queue) and (self._is_daemon or not self.stats.active)

    @property
    def role(self) -> Role:
        """Whether it is a reconciler, a timer or a daemon."""
        return self._registration.role

    @property
    def info(self) -> ResourceInfo:
        """The kind that is reconciled."""
        return self._registration.info

    @property
    def owns(self) -> list[ResourceInfo]:
        """The kinds of owned objects."""
        return [owns.info for owns in self._registration.owns]

    @property
    def absent_kinds(self) -> list[ResourceInfo]:
        """The optional kinds that the cluster does not have now."""
        return [informer.info for informer in self._caches.optional if not informer.served]

    @property
    def concurrency(self) -> int:
        """The number of reconciles that may run at a time."""
        return self._registration.concurrency

    @property
    def clock(self) -> Clock:
        """The clock of the history and the queue."""
        return self._environment.clock

    def snapshot(self, key: ObjectKey) -> Snapshot[R] | None:
        """Returns the cached object."""
        return self._informer.lister.snapshot(key)

    @property
    def resync_in(self) -> float | None:
        """Seconds until every object is reconciled again; None without a resync."""
        return self._handlers[0].resync_in if self._handlers else None

    def pending(self, key: ObjectKey) -> tuple[str, ObjectKey | None] | None:
        """Returns the trigger of a key that waits, and the other object that changed."""
        return self._enqueuer.pending(key)

    def write_loop(self, key: ObjectKey) -> str:
        """Returns one line about the write loop that slows the key down; empty if there is none."""
        loop = self._enqueuer.loops.of(key)
        return "" if loop is None else loop_state(loop)

    def inspect(self, key: ObjectKey) -> Inspection:
        """Returns everything that is known about an object: its trigger, its queue state, its last reconciles."""
        return inspect(self, key)

    def paused(self, key: ObjectKey) -> str:
        """Returns which annotation pauses the object, as a sentence; empty if it is not paused."""
        return self._pausing.reason(key)

    @property
    def pause_annotation(self) -> str:
        """The annotation that pauses objects."""
        return self._environment.pause_annotation

    @property
    def paused_objects(self) -> int:
        """The number of paused objects."""
        return len(self._pausing)
