"""`Informer`: a cache of one kind, with handlers and read-your-writes."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

from kubewright.api import DecodeError, FieldSelector, Object, ResourceInfo, encode, info_of
from kubewright.api.wire import is_kept
from kubewright.cache._arguments import Fields, IndexFunction, Labels, Transform, selector_of
from kubewright.cache._decoding import SnapshotDecoder, metadata_kind
from kubewright.cache._errors import CacheSyncError
from kubewright.cache._handlers import Handler, HandlerRegistration, Handlers
from kubewright.cache._header import labels_of
from kubewright.cache._health import WatchHealth, combined
from kubewright.cache._key import ObjectKey
from kubewright.cache._list_watch import ListWatch
from kubewright.cache._lister import Lister
from kubewright.cache._loop_time import LoopTime
from kubewright.cache._overlay import Overlay
from kubewright.cache._reflector import Reflector
from kubewright.cache._snapshot import Snapshot
from kubewright.cache._store import Store
from kubewright.cache._store_writer import StoreWriter
from kubewright.cache._sync import Synced
from kubewright.causes import ungrouped
from kubewright.client import Client
from kubewright.clock import Clock, SystemClock, VirtualClock
from kubewright.counts import counted
from kubewright.durations import Duration, check_duration
from kubewright.lru import LRUMemory

__all__ = ["Informer"]

logger = logging.getLogger("kubewright.cache")

R = TypeVar("R", bound=Object)

_LOGGED_AT_MOST = 100_000
"""Objects whose logged state is remembered. Lists visit all objects in order, so a smaller memory would never hit."""


class Informer(Generic[R]):
    """Keeps the objects of one kind in memory, equal to the server, and notifies handlers of every change.

    Run it in a task (`run`), or use it as `async with informer:`. Read through `lister`. An informer belongs to one
    event loop; reads and `written`/`removed` are safe from other threads.

    Guarantees for each handler:

    - It receives every existing object exactly once, as an `added` that is marked `initial`.
    - Then it receives every change, in the order of the server.
    - A deletion that the watch missed carries the last known state and is marked `missed`.
    - States that came and went while the watch was down are not delivered.
    """

    def __init__(
        self,
        client: Client,
        kind: type[R],
        *,
        namespaces: Sequence[str] = (),
        labels: Labels | None = None,
        fields: Fields | None = None,
        metadata_only: bool = False,
        transform: Transform | None = None,
        keep_managed_fields: bool = False,
        owned_by: Sequence[type[Object]] = (),
        optional: bool = False,
        following: bool = False,
        indexes: Mapping[str, IndexFunction[R]] | None = None,
        field_manager: str | None = None,
        stall_timeout: Duration = 180.0,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """Describes what to cache.

        Args:
            client: sends the requests. It needs the verbs `list` and `watch` on the kind.
            kind: the class of the objects.
            namespaces: cache only these, with one watch each. Default: all namespaces in one watch.
            labels: cache only objects that this label selector matches.
            fields: cache only objects that this field selector matches. The server supports few fields.
            metadata_only: fetch and store only the metadata. Reads then return plain `Object`s of that kind, which are
                read-only.
            transform: changes an object's JSON before it is stored. See `transform_json`. Objects are then read-only.
            keep_managed_fields: store `metadata.managedFields`, a third of most objects. Default: dropped.
            owned_by: store whole only objects that have an owner of these kinds. Of others, store the metadata.
            optional: the server need not serve the kind. While it does not, the cache is empty, and counts as synced.
            following: `add_namespace` and `remove_namespace` change the namespaces. No namespaces then means none.
            indexes: functions that return the values of an object for `lister.by_index`, by the name of the index.
            field_manager: snapshots carry a digest of this manager's fields (`Snapshot.applied`).
            stall_timeout: the time without data after which a watch is reopened. Servers send a bookmark each minute.
            clock: time. Default: the system clock.
            rng: randomness for delays.
        """
        if isinstance(namespaces, str):
            raise TypeError(f"namespaces is a sequence of names, not one string: namespaces=({namespaces!r},)")
        info = info_of(kind)
        if namespaces and not info.namespaced:
            raise ValueError(
                f"{info} is cluster-scoped: it cannot be cached for the namespaces {', '.join(namespaces)}"
            )
        self.kind = cast("type[R]", metadata_kind(kind)) if metadata_only else kind
        self.namespaces = tuple(sorted(set(namespaces)))
        self._info = info
        self._selector = selector_of(labels)
        self._fields = str(FieldSelector.from_fields(fields)) if isinstance(fields, Mapping) else fields and str(fields)
        self._clock = clock or SystemClock()
        loop_time = LoopTime(str(info), slices=not isinstance(clock, VirtualClock))
        self._store: Store[R] = Store(indexes, loop_time=loop_time)
        self._overlay = Overlay(self._store)
        self._handlers = Handlers(self._store, self._clock)
        self._decoder = SnapshotDecoder(
            self.kind,
            metadata_only=metadata_only,
            field_manager=field_manager,
            keep_managed_fields=keep_managed_fields,
            transform=transform,
            owned_by=owned_by,
        )
        self._writer = StoreWriter(self._store, self._overlay, self._handlers.deliver)
        self._client = client
        self._rng = rng or random.Random()  # noqa: S311  # jitter, not a secret
        self._stall_timeout = stall_timeout
        self.metadata_only = metadata_only
        self.transform = transform
        self.owned_by = tuple(owned_by)
        self.optional = optional
        self.following = following
        self.served = True
        """Whether the server serves the kind. Only an optional kind may be absent."""
        self._served_handlers: list[Callable[[bool], None]] = []
        self._synced_handlers: list[Callable[[], None]] = []
        self._names_known = not following
        self._synced = Synced()
        self._reflectors: dict[str | None, Reflector[R]] = {
            namespace: self._reflector(namespace, self._stream_synced)
            for namespace in self.namespaces or (() if following else (None,))
        }
        self._streams: asyncio.TaskGroup | None = None
        self._stream_tasks: dict[str | None, asyncio.Task[None]] = {}
        self._task: asyncio.Task[None] | None = None
        self._running = False
        self._undecodable: LRUMemory[ObjectKey, int] = LRUMemory(_LOGGED_AT_MOST)  # the state that was logged last
        self._undecodable_count = 0
        self.lister: Lister[R] = Lister(self._overlay, self._found_undecodable)

    def _reflector(self, namespace: str | None, on_synced: Callable[[], None]) -> Reflector[R]:
        source = ListWatch(
            self._client,
            self.kind,
            namespace,
            labels=None if self._selector is None else str(self._selector),
            fields=self._fields or None,
            metadata_only=self.metadata_only,
        )
        return Reflector(
            source,
            self._store,
            decoder=self._decoder,
            stall_timeout=self._stall_timeout,
            clock=self._clock,
            rng=self._rng,
            writer=self._writer,
            on_synced=on_synced,
            on_served=self._note_served if self.optional else None,
        )

    # Life

    async def run(self) -> None:
        """Fills the cache and keeps it up to date until it is cancelled. Run it again to continue where it was."""
        if self._running:
            raise RuntimeError(f"the informer of {self._info} is already running")
        self._running = True
        self._handlers.start()
        try:
            with ungrouped():
                async with asyncio.TaskGroup() as self._streams:
                    for namespace in self._reflectors:
                        self._start(namespace)
                    if self.following:
                        await asyncio.get_running_loop().create_future()  # also while there are no namespaces
        finally:
            self._streams = None
            self._stream_tasks.clear()
            self._handlers.stop()
            self._running = False

    def _start(self, namespace: str | None) -> None:
        if self._streams is not None:
            reflector = self._reflectors[namespace]
            self._stream_tasks[namespace] = self._streams.create_task(reflector.run(), name=f"watch {reflector}")

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self.run(), name=f"informer of {self._info}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.result()  # it ends only with an error, which must not be lost

    @property
    def synced(self) -> bool:
        """Whether all objects that existed at the start are in the store and the watch is open."""
        return self._handlers.synced

    async def wait_for_sync(self, timeout: Duration) -> None:
        """Waits until it is synced. Raises `CacheSyncError` with the reason after that many seconds.

        Errors that can be fixed while it runs do not end the wait: a definition that is not installed yet, or a missing
        permission. They are logged immediately.
        """
        seconds = check_duration("timeout", timeout)
        if not await self._synced.wait(self._clock, seconds):
            raise CacheSyncError(seconds, {str(self._info): self._missing()})

    def _missing(self) -> str:
        if not self._running:
            return "the informer is not running"
        missing = [reflector.health for reflector in self._reflectors.values() if not reflector.synced]
        return combined(missing).last_error or "the server has not answered yet"

    def _stream_synced(self) -> None:
        if self._names_known and not self._synced and all(one.synced for one in self._reflectors.values()):
            self._handlers.synced = True
            self._synced.set()
            for handler in self._synced_handlers:
                handler()

    def when_synced(self, handler: Callable[[], None]) -> None:
        """Calls a function once, when the cache is synced for the first time."""
        self._synced_handlers.append(handler)

    # Namespaces that change

    def covers(self, namespace: str) -> bool:
        """Returns whether the cache contains the objects of a namespace that its selectors match."""
        return namespace in self.namespaces if self.namespaces or self.following else True

    def add_namespace(self, namespace: str, on_synced: Callable[[], None]) -> None:
        """Starts to watch a namespace, and calls `on_synced` when it is. Handlers wait for `open_namespace`."""

        def synced() -> None:
            self._stream_synced()
            on_synced()

        self.namespaces = tuple(sorted({*self.namespaces, namespace}))
        self._handlers.held.add(namespace)
        self._reflectors[namespace] = self._reflector(namespace, synced)
        self._start(namespace)

    def open_namespace(self, namespace: str) -> None:
        """Delivers the objects of an added namespace to the handlers, and then every change."""
        self._handlers.open(namespace)

    def remove_namespace(self, namespace: str, *, deleted: bool = False) -> None:
        """Stops watching a namespace. Its objects leave the cache, which is not a deletion unless `deleted` is true."""
        self.namespaces = tuple(name for name in self.namespaces if name != namespace)
        del self._reflectors[namespace]
        if (task := self._stream_tasks.pop(namespace, None)) is not None:
            task.cancel()
        self._writer.drop(namespace, deleted=deleted)
        self._handlers.held.discard(namespace)
        self._stream_synced()

    def names_known(self) -> None:
        """Reports that all existing namespaces were added. Before that, the cache does not count as synced."""
        self._names_known = True
        self._stream_synced()

    # Optional kinds

    def add_served_handler(self, handler: Callable[[bool], None]) -> None:
        """Calls a function when the server begins (True) or ceases (False) to serve an optional kind."""
        self._served_handlers.append(handler)

    def _note_served(self, served: bool) -> None:
        if served is self.served:
            return
        self.served = served
        state = "installed: watching it" if served else "not installed. It is optional, and watched when it is"
        logger.info("%s is %s", self._info, state)
        for handler in self._served_handlers:
            handler(served)

    @property
    def health(self) -> WatchHealth:
        """The state of the watch. For several namespaces, their combined state."""
        health = combined(reflector.health for reflector in self._reflectors.values())
        if self._running and not self._reflectors:
            health.state = "watching"  # no namespace has the labels
        health.undecodable += self._undecodable_count
        health.blocked, health.blocked_seconds = self._store.loop_time.blocked, self._store.loop_time.blocked_seconds
        return health

    async def behind(self) -> int:
        """Lists all objects on the server and returns how many of them the cache lacks or has in another state.

        Use it in tests only. In production, every object that changes is behind for a moment.
        """
        confirmed = {key: self._store.get(key) for key in self._store.ordered_keys()}
        states = {key: found.resource_version for key, found in confirmed.items() if found is not None}
        listed: dict[ObjectKey, int] = {}
        for reflector in [*self._reflectors.values()] if self.served else ():
            for raw in await reflector.listed():
                snapshot = self._decoder.snapshot(raw)
                listed[snapshot.key] = snapshot.resource_version
        return len(listed.items() ^ states.items())

    @property
    def info(self) -> ResourceInfo:
        """The kind of the objects."""
        return self._info

    @property
    def selection(self) -> str:
        """The label and field selectors as a string; empty without selectors."""
        return ",".join(str(selector) for selector in (self._selector, self._fields) if selector)

    @property
    def objects(self) -> int:
        """The number of objects that the server has confirmed."""
        return len(self._store)

    @property
    def size(self) -> int:
        """The size of their JSON in bytes. Computed by each call."""
        return self._store.size

    # Handlers and indexes

    def add_handler(
        self, handler: Handler[R], *, resync: Duration | None = None, name: str | None = None
    ) -> HandlerRegistration[R]:
        """Calls a function with every `Change`, in the event loop. The content of the store is delivered first.

        The handler must not block: while it runs, no other watch, lease or reconcile makes progress. A handler that
        blocks the event loop is logged with its name and counted in `health.blocked`.

        `resync` is a period after which all objects of the store are delivered again, as `resync`. `name` is the name
        of the handler in log messages. Default: the name of the function.
        """
        return self._handlers.add(handler, resync, name)

    def add_index(self, name: str, function: IndexFunction[R]) -> None:
        """Adds an index for `lister.by_index`. Adding the same one again changes nothing."""
        self._store.add_index(name, function)

    # Own writes

    def written(self, answer: R | bytes) -> None:
        """Shows the server's response to an own write in all reads until the watch delivers it."""
        raw = _json_of(answer)
        snapshot = self._decoder.snapshot(raw)
        key = snapshot.key
        if not self.covers(key.namespace):
            return
        if snapshot.deleting and not is_kept(self._info, raw):  # the response to the removal of the last finalizer
            self._overlay.removed(key, snapshot.uid, certain=True)
        elif not self._fields or self._overlay.get(key) is not None:
            # Only the server knows whether the field selector matches a new object.
            self._overlay.written(snapshot, hidden=not self._selects(raw))

    def removed(self, key: tuple[str, str], uid: str) -> None:
        """Hides an own deletion until the watch delivers it, or until it shows that a finalizer keeps the object."""
        self._overlay.removed(ObjectKey(*key), uid)

    def _selects(self, raw: bytes) -> bool:
        """Returns whether the label selector matches the object as the server has it, before the transform."""
        return self._selector is None or self._selector.matches(labels_of(raw))

    def _found_undecodable(self, snapshot: Snapshot[R], error: DecodeError) -> None:
        if self._undecodable.put(snapshot.key, snapshot.resource_version) == snapshot.resource_version:
            return
        self._undecodable_count += 1
        logger.warning("object left out of a list: %s", error)

    def __repr__(self) -> str:
        return f"<Informer of {self._info}, {counted(len(self._store), 'object')}, {self.health.state}>"


def _json_of(answer: Any) -> bytes:
    if isinstance(answer, bytes):
        return answer
    origin = answer.metadata.origin
    return encode(answer) if origin is None else cast("bytes", origin.raw)
