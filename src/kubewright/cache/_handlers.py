"""Handlers of a cache and their registrations."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Generic, TypeAlias, TypeVar

from kubewright.api import Object
from kubewright.cache._key import ObjectKey
from kubewright.cache._snapshot import Change
from kubewright.cache._store import Store
from kubewright.clock import Clock, Timer
from kubewright.durations import Duration, check_duration
from kubewright.user_code import has_to_pass

__all__ = ["Handler", "HandlerRegistration", "Handlers"]

logger = logging.getLogger("kubewright.cache")

R = TypeVar("R", bound=Object)

Handler: TypeAlias = Callable[[Change[R]], None]
"""Receives each change, in the thread of the event loop. It must not block: put a key into a queue and return."""

_RESYNC_BATCH = 500


class HandlerRegistration(Generic[R]):
    """One handler of an informer. Call `remove` to end it; nothing is delivered after that."""

    def __init__(self, handlers: Handlers[R], handler: Handler[R], resync: float | None, name: str | None) -> None:
        self._handlers = handlers
        self._resync = resync
        self._timer: Timer | None = None
        self._resync_at = 0.0  # on the monotonic clock, while there is a timer
        self.handler = handler
        self.name = name or f"handler {getattr(handler, '__qualname__', None) or repr(handler)}"
        """The name of the handler in log messages."""
        self.active = True

    @property
    def synced(self) -> bool:
        """Whether the handler has received every object that existed when it was added."""
        return self.active and self._handlers.synced

    @property
    def resync_in(self) -> float | None:
        """Seconds until the next resync, or None if no resync is scheduled."""
        return None if self._timer is None else max(self._resync_at - self._handlers.clock.monotonic(), 0.0)

    def remove(self) -> None:
        """Ends the registration. Harmless when repeated."""
        self.active = False
        self.stop_resync()
        self._handlers.forget(self)

    def deliver(self, change: Change[R]) -> None:
        """Calls the handler. An exception is logged and affects nothing else."""
        if not self.active:
            return
        loop_time = self._handlers.loop_time
        timer = loop_time.timer
        began = timer()
        try:
            self.handler(change)
        except BaseException as error:
            if has_to_pass(error):
                raise
            kind = change.snapshot.kind.__name__
            logger.exception("the %s failed on %s %s (%s)", self.name, kind, change.key, change.type)
        loop_time.add(self.name, timer() - began)

    # Resyncs

    def start_resync(self, clock: Clock) -> None:
        """Schedules the next resync, if the registration has a period."""
        if self._resync is not None and self._timer is None and self.active:
            self._resync_at = clock.monotonic() + self._resync
            self._timer = clock.call_later(self._resync, lambda: self._begin_resync(clock))

    def stop_resync(self) -> None:
        """Cancels the scheduled resync."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin_resync(self, clock: Clock) -> None:
        self._continue_resync(clock, iter(self._handlers.store.ordered_keys() if self._handlers.synced else ()))

    def _continue_resync(self, clock: Clock, keys: Iterator[ObjectKey]) -> None:
        """Delivers a batch of objects, so that the resync of a large store does not stall the watch."""
        for _ in range(_RESYNC_BATCH):
            if not self.active:
                return
            key = next(keys, None)
            if key is None:
                self._timer = None
                self.start_resync(clock)
                return
            snapshot = self._handlers.store.get(key)
            if snapshot is not None and key.namespace not in self._handlers.held:
                self.deliver(Change("resync", key, snapshot, snapshot))
        self._timer = clock.call_later(0, lambda: self._continue_resync(clock, keys))


class Handlers(Generic[R]):
    """The handlers of one store. Each receives every object once, as `initial`, and then every change in order."""

    def __init__(self, store: Store[R], clock: Clock) -> None:
        self.store = store
        self.loop_time = store.loop_time
        self.synced = False
        self.clock = clock
        self._running = False
        # Replaced, never changed: a handler may add or remove handlers while it is called.
        self._registrations: tuple[HandlerRegistration[R], ...] = ()
        self.held: set[str] = set()
        """Namespaces whose objects are not delivered yet, because other caches do not have theirs."""

    def __len__(self) -> int:
        return len(self._registrations)

    def add(self, handler: Handler[R], resync: Duration | None, name: str | None = None) -> HandlerRegistration[R]:
        """Adds a handler and delivers the content of the store to it before returning."""
        seconds = None if resync is None else check_duration("resync", resync, zero=False)
        registration = HandlerRegistration(self, handler, seconds, name)
        self._registrations = (*self._registrations, registration)
        for key in self.store.ordered_keys():
            snapshot = self.store.get(key)
            if snapshot is not None and key.namespace not in self.held:
                registration.deliver(Change("added", key, None, snapshot, initial=True))
        if self._running:
            registration.start_resync(self.clock)
        return registration

    def forget(self, registration: HandlerRegistration[R]) -> None:
        """Removes a registration."""
        self._registrations = tuple(other for other in self._registrations if other is not registration)

    def start(self) -> None:
        """Starts the resync timers."""
        self._running = True
        for registration in self._registrations:
            registration.start_resync(self.clock)

    def stop(self) -> None:
        """Stops the resync timers."""
        self._running = False
        for registration in self._registrations:
            registration.stop_resync()

    def open(self, namespace: str) -> None:
        """Delivers the objects of a namespace that was held."""
        if namespace not in self.held:
            return
        self.held.discard(namespace)
        for key in self.store.ordered_keys(namespace):
            if (snapshot := self.store.get(key)) is not None:
                self.deliver(Change("added", key, None, snapshot, initial=True))

    def deliver(self, change: Change[R]) -> None:
        """Calls all handlers with a change that is already in the store."""
        if self.held and change.key.namespace in self.held:
            return
        for registration in self._registrations:
            registration.deliver(change)
