"""`ObjectCache`: the objects of one kind, cached once for all pages.

A cache reads with the console's own identity. `rows`, `rows_of`, `visible` and `read` take the viewer and return only
what that viewer may see. The other methods are for callers that check the visibility themselves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Literal, Self

from kubewright.api import Untyped
from kubewright.cache import OWNER_INDEX, Change, Informer, ObjectKey, Snapshot
from kubewright.client import Client, Forbidden, Status
from kubewright.clock import Clock, SystemClock, Timer
from kubewright.console.access import Viewer, Visibility
from kubewright.console.caches._rows import Row, Rows
from kubewright.console.kinds import Kind
from kubewright.console.objects import Health
from kubewright.counts import counted
from kubewright.observe import FailingObject

__all__ = ["Batch", "CacheHealth", "ObjectCache", "Subscription"]

logger = logging.getLogger("kubewright.console")

_FLUSH_INTERVAL: Final = 0.25
_FILL_SECONDS: Final = 10.0


@dataclass(frozen=True)
class Batch:
    """The changes of a cache since the last batch."""

    changed: frozenset[ObjectKey] = frozenset()
    """Objects that were created or changed."""
    gone: frozenset[ObjectKey] = frozenset()
    """Objects that were deleted."""
    health: bool = False
    """Whether the health of the cache changed."""


@dataclass(frozen=True)
class CacheHealth:
    """The connection state of a cache."""

    state: Literal["live", "syncing", "unavailable", "forbidden"]
    """`unavailable`: the API server does not answer, and the cache has the last known objects. `forbidden`: the console
    may not read this kind.
    """
    since: datetime | None = None
    """When the state began."""
    message: str = ""
    """The last error."""

    @property
    def live(self) -> bool:
        """Whether the cache is up to date."""
        return self.state == "live"


class Subscription:
    """Delivers the changes of a cache to a callback, and keeps the cache open until `close`."""

    def __init__(self, cache: ObjectCache, callback: Callable[[Batch], object]) -> None:
        self._cache = cache
        self.callback = callback
        self._running: set[asyncio.Future[Any]] = set()

    def deliver(self, batch: Batch) -> None:
        """Calls the callback. A coroutine runs in a separate task. Exceptions are logged and do not affect other
        subscribers.
        """
        try:
            result = self.callback(batch)
        except Exception:
            logger.exception("cannot update a page with changes of %s", self._cache.kind)
            return
        if asyncio.iscoroutine(result):
            task = asyncio.ensure_future(result)
            self._running.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Future[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("cannot update a page with changes of %s", self._cache.kind, exc_info=error)

    def close(self) -> None:
        """Ends the subscription. Idempotent."""
        for task in self._running:
            task.cancel()
        self._cache.unsubscribe(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ObjectCache:
    """The cached objects of one kind: one informer for all pages. Get it from `Backend.cache`."""

    def __init__(
        self,
        client: Client,
        kind: Kind,
        *,
        namespaces: Collection[str] = (),
        forbidden: str = "",
        clock: Clock | None = None,
        on_idle: Callable[[], None] | None = None,
    ) -> None:
        """Creates an empty cache.

        Args:
            client: a client with the console's own credentials.
            kind: the kind to cache.
            namespaces: the namespaces that the console may read. Default: all.
            forbidden: the reason why the console may not read the kind at all, if so.
            clock: the source of time. Default: the system clock.
            on_idle: called when the last user has released the cache.
        """
        self.kind = kind
        self.namespaces = tuple(namespaces)
        self._clock = clock or SystemClock()
        self.forbidden = forbidden
        self._on_idle = on_idle
        self._informer: Informer[Untyped] = Informer(
            client, kind.resource, namespaces=self.namespaces if kind.namespaced else (), clock=clock
        )
        self._task: asyncio.Task[None] | None = None
        self._subscriptions: list[Subscription] = []
        self._acquired = 0
        self._changed: set[ObjectKey] = set()
        self._gone: set[ObjectKey] = set()
        self._health_changed = False
        self._flush_timer: Timer | None = None
        self._flushed_at = -_FLUSH_INTERVAL
        self._rows = Rows(kind, self._clock)
        self._health = CacheHealth("syncing", self._clock.now())

    # Lifecycle

    def open(self) -> None:
        """Starts the informer."""
        if self.forbidden:
            self._health = CacheHealth("forbidden", self._clock.now(), self.forbidden)
            return
        self._informer.add_handler(self._on_change)
        self._task = asyncio.create_task(self._informer.run(), name=f"cache of {self.kind}")

    async def wait_for_sync(self, timeout: float = _FILL_SECONDS) -> None:
        """Waits until the cache is in sync. Raises `CacheSyncError` with the reason, or `Forbidden`."""
        if self.forbidden:
            raise Forbidden(Status(code=403, reason="Forbidden", message=self.forbidden), f"list {self.kind}")
        await self._informer.wait_for_sync(timeout)

    async def close(self) -> None:
        """Stops the informer."""
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def redefine(self, kind: Kind) -> None:
        """Replaces the kind by a newer definition, which may have other columns."""
        if kind.revision > self.kind.revision:
            self.kind = kind
            self._rows.redefine(kind)
            self._changed.update(self._informer.lister.keys())
            self._schedule_flush()

    @property
    def users(self) -> int:
        """The number of callers and subscriptions that keep the cache open."""
        return self._acquired + len(self._subscriptions)

    def acquire(self) -> None:
        """Keeps the cache open until `release`."""
        self._acquired += 1

    def release(self) -> None:
        """Undoes one `acquire`."""
        self._acquired -= 1
        self._check_idle()

    def _check_idle(self) -> None:
        if not self.users and self._on_idle is not None:
            self._on_idle()

    # Reading

    def __len__(self) -> int:
        return self._informer.objects

    @property
    def synced(self) -> bool:
        """Whether the cache has been in sync."""
        return self._informer.synced

    def used_namespaces(self) -> set[str]:
        """Returns the namespaces that contain objects of this kind."""
        return {key.namespace for key in self._informer.lister.keys()}  # noqa: SIM118  # not a dict

    async def rows(self, viewer: Viewer, namespace: str | None = None) -> list[Row]:
        """Returns the rows that a viewer may see, in one namespace or in all, sorted by namespace and name."""
        visibility = await self._visibility(viewer, namespace)
        return await self._visible(viewer, visibility, self._informer.lister.snapshots(namespace))

    async def rows_of(self, viewer: Viewer, keys: Iterable[tuple[str, str]]) -> list[Row]:
        """Returns the rows of those of these objects that exist and that the viewer may see."""
        found = [self._informer.lister.snapshot(key) for key in keys]
        there = [snapshot for snapshot in found if snapshot is not None]
        visibility = await viewer.visibility(self.kind, {snapshot.namespace for snapshot in there})
        return await self._visible(viewer, visibility, there)

    async def visible(self, viewer: Viewer, namespace: str | None = None) -> list[Snapshot[Untyped]]:
        """Returns the undecoded objects that a viewer may see."""
        visibility = await self._visibility(viewer, namespace)
        snapshots = self._informer.lister.snapshots(namespace)
        return [one for one in snapshots if visibility.everything or visibility.allows(one.namespace, one.name)]

    async def read(self, viewer: Viewer, namespace: str, name: str) -> bytes | None:
        """Returns the JSON of one object; None if it does not exist or the viewer may not see it."""
        raw = self.get(namespace, name)
        return raw if raw is not None and await viewer.may_see(self.kind, namespace, name) else None

    def get(self, namespace: str, name: str) -> bytes | None:
        """Returns the JSON of one object without managed fields. Does not check who may see it."""
        snapshot = self._informer.lister.snapshot((namespace, name))
        return None if snapshot is None else snapshot.raw

    def snapshots(self) -> list[Snapshot[Untyped]]:
        """Returns all objects with their headers. Does not check who may see them."""
        return self._informer.lister.snapshots()

    def snapshot(self, namespace: str, name: str) -> Snapshot[Untyped] | None:
        """Returns one object with its header. Does not check who may see it."""
        return self._informer.lister.snapshot((namespace, name))

    def owned_by(self, uid: str) -> list[Snapshot[Untyped]]:
        """Returns the objects with an owner reference to this UID. Does not check who may see them."""
        return self._informer.lister.snapshots_by_index(OWNER_INDEX, uid)

    async def _visibility(self, viewer: Viewer, namespace: str | None) -> Visibility:
        return await viewer.visibility(self.kind, self.used_namespaces() if namespace is None else {namespace})

    async def _visible(
        self, viewer: Viewer, visibility: Visibility, snapshots: Iterable[Snapshot[Untyped]]
    ) -> list[Row]:
        """Returns the rows. Those of failing objects have the error if the viewer may `get` the object."""
        failing = self._rows.failing_keys()
        shown = [one for one in snapshots if visibility.everything or visibility.allows(one.namespace, one.name)]
        where = {one.namespace for one in shown if one.key in failing}
        readable = await viewer.readable(self.kind, where) if where else Visibility()
        return [
            self._rows.of(one, show_error=one.key in failing and readable.allows(one.namespace, one.name))
            for one in shown
        ]

    def state(self, snapshot: Snapshot[Untyped], *, show_error: bool = False) -> Health:
        """Returns the state of an object, with the error of its last reconcile if `show_error`."""
        return self._rows.health(snapshot, show_error=show_error)

    def set_failures(self, failures: Mapping[ObjectKey, FailingObject]) -> None:
        """Replaces the failed reconciles that operators report, and notifies subscribers of changed states."""
        self._states_changed(self._rows.set_failures(failures))

    def _states_changed(self, keys: Iterable[ObjectKey]) -> None:
        changed = [key for key in keys if self._informer.lister.snapshot(key) is not None]
        if changed:
            self._changed.update(changed)
            self._schedule_flush()

    # Subscriptions

    def subscribe(self, callback: Callable[[Batch], object]) -> Subscription:
        """Calls back with batches of changes, at most four times a second, until the subscription is closed.

        Calls the callback in the event loop; it may be a coroutine function.
        """
        made = Subscription(self, callback)
        self._subscriptions.append(made)
        return made

    def unsubscribe(self, subscription: Subscription) -> None:
        """Removes a subscription."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
            self._check_idle()

    def _on_change(self, change: Change[Untyped]) -> None:
        if change.type == "deleted":
            self._gone.add(change.key)
            self._changed.discard(change.key)
            self._rows.drop(change.key)
        else:
            self._changed.add(change.key)
            self._gone.discard(change.key)
        self._schedule_flush()

    def _schedule_flush(self) -> None:
        if self._flush_timer is None:
            wait = max(self._flushed_at + _FLUSH_INTERVAL - self._clock.monotonic(), 0.0)
            self._flush_timer = self._clock.call_later(wait, self._flush)

    def _flush(self) -> None:
        self._flush_timer = None
        self._flushed_at = self._clock.monotonic()
        batch = Batch(frozenset(self._changed), frozenset(self._gone), self._health_changed)
        self._changed, self._gone, self._health_changed = set(), set(), False
        for subscription in [*self._subscriptions]:
            subscription.deliver(batch)

    # Health

    @property
    def health(self) -> CacheHealth:
        """The connection state now."""
        self.refresh_health()
        return self._health

    def refresh_health(self) -> None:
        """Reads the state of the watch, and notifies subscribers if it changed, or if states changed with time."""
        if self.forbidden:
            return
        self._states_changed(self._rows.pop_overdue())
        watch = self._informer.health
        state: Literal["live", "syncing", "unavailable"] = "live" if self._informer.synced else "syncing"
        if watch.last_error:
            state = "unavailable"
        if state == self._health.state:
            return
        self._health = CacheHealth(state, self._clock.now(), watch.last_error)
        self._health_changed = True
        self._schedule_flush()

    def __repr__(self) -> str:
        return f"<ObjectCache of {self.kind}, {counted(len(self), 'object')}, {self._health.state}>"
