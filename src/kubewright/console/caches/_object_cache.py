"""`ObjectCache`: the objects of one kind, one cache for all pages.

A cache reads with the console's own identity. What of it somebody sees is decided by what he may see: `rows` and `read`
take the viewer, and there is no way around him but `get`, for those who have asked already.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias

import msgspec

from kubewright.api import Untyped
from kubewright.api.wire import UNREADABLE
from kubewright.cache import OWNER_INDEX, Change, Informer, ObjectKey, Snapshot
from kubewright.client import Client, Forbidden, Status
from kubewright.clock import Clock, SystemClock, Timer
from kubewright.console.access import Viewer, Visibility
from kubewright.console.kinds import Kind
from kubewright.console.objects import state_of

__all__ = ["Batch", "CacheHealth", "ObjectCache", "Row", "Subscription"]

logger = logging.getLogger("kubewright.console")

Row: TypeAlias = dict[str, Any]
"""What a list shows of an object: `id`, `uid`, `namespace`, `name`, `state`, `why`, `created`, `labels` (as text), and
the printer columns under the `field` of each. Text from the cluster, to be shown as text."""

_PAUSE: Final = 0.25
_FILL_SECONDS: Final = 10.0


@dataclass(frozen=True)
class Batch:
    """What changed on a cache since the last batch."""

    changed: frozenset[ObjectKey] = frozenset()
    """Objects that are new or have another state."""
    gone: frozenset[ObjectKey] = frozenset()
    """Objects that are deleted."""
    health: bool = False
    """Whether the cache's health is another."""


@dataclass(frozen=True)
class CacheHealth:
    """How a cache is doing."""

    state: Literal["live", "filling", "away", "forbidden"]
    """`away`: the API server does not answer; what is shown is what was known. `forbidden`: the console may not read
    this kind."""
    since: datetime | None = None
    """Since when it is so."""
    message: str = ""
    """What went wrong last."""

    @property
    def live(self) -> bool:
        """Whether what is shown is what is so."""
        return self.state == "live"


class Subscription:
    """Somebody listens to a cache, which stays open as long. `close` ends it."""

    def __init__(self, cache: ObjectCache, callback: Callable[[Batch], object]) -> None:
        self._cache = cache
        self.callback = callback
        self._running: set[asyncio.Future[Any]] = set()

    def deliver(self, batch: Batch) -> None:
        """Call back; a coroutine runs in a task of its own. What is raised is logged, and hurts nobody else."""
        try:
            result = self.callback(batch)
        except Exception:
            logger.exception("a page failed to follow %s", self._cache.kind)
            return
        if asyncio.iscoroutine(result):
            task = asyncio.ensure_future(result)
            self._running.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Future[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a page failed to follow %s", self._cache.kind, exc_info=error)

    def close(self) -> None:
        """Hear no more. Harmless when repeated."""
        for task in self._running:
            task.cancel()
        self._cache.leave(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ObjectCache:
    """The objects of one kind: one informer, however many look. `Console.cache` gives it; pages do not make any."""

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
        """A cache that is still empty.

        Args:
            client: the console's own way to the server.
            kind: what is on it.
            namespaces: the only ones that the console may read; all of them when empty.
            forbidden: why the console may not read the kind at all.
            clock: time; the system's unless given.
            on_idle: called when the last one who held it has gone.
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
        self._flushed_at = -_PAUSE
        self._rows: dict[ObjectKey, tuple[int, Row]] = {}
        self._health = CacheHealth("filling", self._clock.now())

    # Life

    def open(self) -> None:
        """Begin to fill it."""
        if self.forbidden:
            self._health = CacheHealth("forbidden", self._clock.now(), self.forbidden)
            return
        self._informer.add_handler(self._hear)
        self._task = asyncio.create_task(self._informer.run(), name=f"cache of {self.kind}")

    async def wait_for_sync(self, timeout: float = _FILL_SECONDS) -> None:
        """Wait until everything is there. Raises `CacheSyncError` with the reason, or `Forbidden`."""
        if self.forbidden:
            raise Forbidden(Status(code=403, reason="Forbidden", message=self.forbidden), f"list {self.kind}")
        await self._informer.wait_for_sync(timeout)

    async def close(self) -> None:
        """Stop watching."""
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def redefine(self, kind: Kind) -> None:
        """Show the objects as a newer definition says: it may have other columns."""
        if kind.revision > self.kind.revision:
            self.kind = kind
            self._rows.clear()
            self._changed.update(self._informer.lister.keys())
            self._soon()

    @property
    def users(self) -> int:
        """How many acquire it open: those who use it just now, and those who listen."""
        return self._acquired + len(self._subscriptions)

    def acquire(self) -> None:
        """Keep it open until `release`."""
        self._acquired += 1

    def release(self) -> None:
        """Need it no more."""
        self._acquired -= 1
        self._left()

    def _left(self) -> None:
        if not self.users and self._on_idle is not None:
            self._on_idle()

    # Reading

    def __len__(self) -> int:
        return self._informer.objects

    @property
    def synced(self) -> bool:
        """Whether it was filled once."""
        return self._informer.synced

    def used_namespaces(self) -> set[str]:
        """The namespaces that have objects of this kind."""
        return {key.namespace for key in self._informer.lister.keys()}  # noqa: SIM118  # not a dict

    async def rows(self, viewer: Viewer, namespace: str | None = None) -> list[Row]:
        """What a viewer may see, in one namespace or in all, ordered by namespace and name."""
        return self._visible(await self._visibility(viewer, namespace), self._informer.lister.snapshots(namespace))

    async def rows_of(self, viewer: Viewer, keys: Iterable[tuple[str, str]]) -> list[Row]:
        """Of these objects, the rows of those that are there and that the viewer may see: what a batch has changed."""
        found = [self._informer.lister.snapshot(key) for key in keys]
        there = [snapshot for snapshot in found if snapshot is not None]
        visibility = await viewer.visibility(self.kind, {snapshot.namespace for snapshot in there})
        return self._visible(visibility, there)

    async def visible(self, viewer: Viewer, namespace: str | None = None) -> list[Snapshot[Untyped]]:
        """The objects themselves, undecoded, that a viewer may see."""
        visibility = await self._visibility(viewer, namespace)
        snapshots = self._informer.lister.snapshots(namespace)
        return [one for one in snapshots if visibility.everything or visibility.allows(one.namespace, one.name)]

    async def read(self, viewer: Viewer, namespace: str, name: str) -> bytes | None:
        """The JSON of one object; None when it is not there, and as well when the viewer may not see it."""
        raw = self.get(namespace, name)
        return raw if raw is not None and await viewer.may_see(self.kind, namespace, name) else None

    def get(self, namespace: str, name: str) -> bytes | None:
        """The JSON of one object, for those who know that it may be seen; without managed fields."""
        snapshot = self._informer.lister.snapshot((namespace, name))
        return None if snapshot is None else snapshot.raw

    def snapshots(self) -> list[Snapshot[Untyped]]:
        """All objects with their headers, for those who know that they may be seen."""
        return self._informer.lister.snapshots()

    def snapshot(self, namespace: str, name: str) -> Snapshot[Untyped] | None:
        """The same with its header."""
        return self._informer.lister.snapshot((namespace, name))

    def owned_by(self, uid: str) -> list[Snapshot[Untyped]]:
        """The objects that name the owner with this uid, for those who ask afterwards what the viewer may see."""
        return self._informer.lister.snapshots_by_index(OWNER_INDEX, uid)

    async def _visibility(self, viewer: Viewer, namespace: str | None) -> Visibility:
        return await viewer.visibility(self.kind, self.used_namespaces() if namespace is None else {namespace})

    def _visible(self, visibility: Visibility, snapshots: Iterable[Snapshot[Untyped]]) -> list[Row]:
        everything = visibility.everything
        return [
            self._row(snapshot)
            for snapshot in snapshots
            if everything or visibility.allows(snapshot.namespace, snapshot.name)
        ]

    def _row(self, snapshot: Snapshot[Untyped]) -> Row:
        known = self._rows.get(snapshot.key)
        if known is not None and known[0] == snapshot.resource_version:
            return known[1]
        row = row_of(self.kind, snapshot)
        self._rows[snapshot.key] = (snapshot.resource_version, row)
        return row

    # Listening

    def subscribe(self, callback: Callable[[Batch], object]) -> Subscription:
        """Hear of changes, in batches, at most four times a second. The cache stays open until `close` is called.

        The callback is called in the event loop; it may be a coroutine function.
        """
        made = Subscription(self, callback)
        self._subscriptions.append(made)
        return made

    def leave(self, subscription: Subscription) -> None:
        """End a subscription."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
            self._left()

    def _hear(self, change: Change[Untyped]) -> None:
        if change.type == "deleted":
            self._gone.add(change.key)
            self._changed.discard(change.key)
            self._rows.pop(change.key, None)
        else:
            self._changed.add(change.key)
            self._gone.discard(change.key)
        self._soon()

    def _soon(self) -> None:
        if self._flush_timer is None:
            wait = max(self._flushed_at + _PAUSE - self._clock.monotonic(), 0.0)
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
        """How it is doing now."""
        self.refresh_health()
        return self._health

    def refresh_health(self) -> None:
        """See how the watch is doing; those who listen hear of it when that is another than before."""
        if self.forbidden:
            return
        watch = self._informer.health
        state: Literal["live", "filling", "away"] = "live" if self._informer.synced else "filling"
        if watch.last_error:
            state = "away"
        if state == self._health.state:
            return
        self._health = CacheHealth(state, self._clock.now(), watch.last_error)
        self._health_changed = True
        self._soon()

    def __repr__(self) -> str:
        return f"<ObjectCache of {self.kind}, {len(self)} objects, {self._health.state}>"


def row_of(kind: Kind, snapshot: Snapshot[Untyped]) -> Row:
    """One object as a row."""
    try:
        obj: dict[str, Any] = msgspec.json.decode(snapshot.raw)
    except UNREADABLE:
        obj = {"metadata": {"name": snapshot.name}}
    obj.setdefault("apiVersion", kind.api_version)
    obj.setdefault("kind", kind.kind)
    state = state_of(obj)
    return {
        "id": str(snapshot.key),
        "uid": snapshot.uid,
        "namespace": snapshot.namespace,
        "name": snapshot.name,
        "state": str(state.state),
        "why": state.why,
        "created": (obj.get("metadata") or {}).get("creationTimestamp"),
        "labels": ",".join(f"{name}={value}" for name, value in snapshot.label_items),
        **kind.printer.cells(obj),
    }
