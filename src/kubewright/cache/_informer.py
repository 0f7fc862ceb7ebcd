"""`Informer`: a cache of one kind, and those who listen to it."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

from kubewright.api import DecodeError, FieldSelector, Object, ResourceInfo, encode, info_of
from kubewright.api.wire import is_kept
from kubewright.cache._decoding import SnapshotDecoder, Transform, metadata_kind
from kubewright.cache._errors import CacheSyncError
from kubewright.cache._handlers import Handler, HandlerRegistration, Handlers
from kubewright.cache._header import labels_of
from kubewright.cache._health import WatchHealth, combined
from kubewright.cache._indexes import IndexFunction
from kubewright.cache._key import ObjectKey
from kubewright.cache._list_watch import ListWatch
from kubewright.cache._lister import Labels, Lister, selector_of
from kubewright.cache._overlay import Overlay
from kubewright.cache._reflector import Reflector
from kubewright.cache._snapshot import Snapshot
from kubewright.cache._store import Store
from kubewright.cache._store_writer import StoreWriter
from kubewright.causes import ungrouped
from kubewright.client import Client
from kubewright.clock import Clock, SystemClock
from kubewright.lru import LRUMemory

__all__ = ["Fields", "Informer"]

logger = logging.getLogger("kubewright.cache")

R = TypeVar("R", bound=Object)

Fields = str | FieldSelector | Mapping[str, str]
"""A field selector: its text, the object, or the values that fields must have."""

_LOGGED_AT_MOST = 100_000
"""Objects whose logged state is remembered. Lists go through all of them in order, so fewer than there are would be
of no use."""


class Informer(Generic[R]):
    """Keeps the objects of one kind in memory, equal to what the server has, and tells handlers of every change.

    Run it in a task (`run`), or use it as `async with informer:`. Reads go through `lister`. It belongs to one event
    loop; reads and `written`/`removed` are safe from other threads.

    What it promises to each handler: every object that is there is told exactly once, as an `added` that is marked
    `initial`; then every change, in the order in which the server made it; a deletion that was missed is told with the
    last state that is known, and marked. States that came and went while the connection was down are not told.
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
        indexes: Mapping[str, IndexFunction[R]] | None = None,
        field_manager: str | None = None,
        stall_timeout: float = 180.0,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """What to cache.

        Args:
            client: the way to the server. It needs the verbs `list` and `watch` on the kind.
            kind: the class of the objects.
            namespaces: only these, with a watch for each; all of them in one watch when empty.
            labels: only objects with such labels.
            fields: only objects with such fields, as far as the server can select by them.
            metadata_only: keep nothing but the metadata, and do not even fetch the rest. Reads then give plain
                `Object`s of that kind.
            transform: changes an object's JSON before it is kept. See `transform_json`.
            keep_managed_fields: keep `metadata.managedFields`, a third of most objects, which are dropped otherwise.
            indexes: functions over the object that give the values to find it by, for `lister.by_index`.
            field_manager: whose managed fields snapshots carry a digest of (`Snapshot.applied`).
            stall_timeout: seconds without a word from the server after which a watch is opened anew. Servers send a
                bookmark each minute.
            clock: time; the system's unless given.
            rng: randomness for delays.
        """
        if isinstance(namespaces, str):
            raise TypeError(f"namespaces is a sequence of names, not one text: namespaces=({namespaces!r},)")
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
        self._store: Store[R] = Store(indexes)
        self._overlay = Overlay(self._store)
        self._handlers = Handlers(self._store, self._clock)
        self._decoder = SnapshotDecoder(
            self.kind,
            metadata_only=metadata_only,
            field_manager=field_manager,
            keep_managed_fields=keep_managed_fields,
            transform=transform,
        )
        writer = StoreWriter(self._store, self._overlay, self._handlers)
        rng = rng or random.Random()  # noqa: S311  # jitter, not a secret
        self._reflectors = [
            Reflector(
                ListWatch(
                    client,
                    self.kind,
                    namespace,
                    labels=None if self._selector is None else str(self._selector),
                    fields=self._fields or None,
                    metadata_only=metadata_only,
                ),
                self._decoder,
                writer,
                clock=self._clock,
                rng=rng,
                stall_timeout=stall_timeout,
                on_synced=self._stream_synced,
            )
            for namespace in self.namespaces or (None,)
        ]
        self._waiting: set[asyncio.Future[None]] = set()
        self._task: asyncio.Task[None] | None = None
        self._running = False
        self._undecodable: LRUMemory[ObjectKey, int] = LRUMemory(_LOGGED_AT_MOST)  # the state that was logged
        self._undecodable_count = 0
        self.lister: Lister[R] = Lister(self._overlay, self._found_undecodable)

    # Life

    async def run(self) -> None:
        """Fill the cache and keep it up to date, until cancelled. It can be run again, and goes on where it was."""
        if self._running:
            raise RuntimeError(f"the informer of {self._info} is running already")
        self._running = True
        self._handlers.start()
        try:
            with ungrouped():
                async with asyncio.TaskGroup() as streams:
                    for reflector in self._reflectors:
                        streams.create_task(reflector.run(), name=f"watch {reflector}")
        finally:
            self._handlers.stop()
            self._running = False

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
            self._task.result()  # it does not end by itself: let its error be seen

    @property
    def synced(self) -> bool:
        """Whether everything that was there at the start is in the store, and the watch stands."""
        return self._handlers.synced

    async def wait_for_sync(self, timeout: float) -> None:
        """Wait until it is synced. Raises `CacheSyncError`, which says what is missing, after that many seconds.

        What can be cured while it runs (a definition that is not installed yet, a permission that somebody still
        grants) is waited for; the log tells of it at once.
        """
        if self.synced:
            return
        synced: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(synced)
        timer = self._clock.call_later(timeout, lambda: synced.done() or synced.cancel())
        try:
            await asyncio.wait([synced])
        finally:
            timer.cancel()
            self._waiting.discard(synced)
        if not self.synced:
            raise CacheSyncError(timeout, {str(self._info): self._missing()})

    def _missing(self) -> str:
        if not self._running:
            return "the informer is not running"
        missing = [reflector.health for reflector in self._reflectors if not reflector.synced]
        return combined(missing).last_error or "the server has not answered yet"

    def _stream_synced(self) -> None:
        if all(reflector.synced for reflector in self._reflectors):
            self._handlers.synced = True
            for synced in self._waiting:
                if not synced.done():
                    synced.set_result(None)

    @property
    def health(self) -> WatchHealth:
        """How the watch is doing; for several namespaces, how they are doing together."""
        health = combined(reflector.health for reflector in self._reflectors)
        health.undecodable += self._undecodable_count
        return health

    async def behind(self) -> int:
        """Ask the server how many of its objects this cache shows in another state, or not at all.

        It lists all objects. Use it in tests: in production, an object that changes is behind for a moment each time.
        """
        confirmed = {key: self._store.get(key) for key in self._store.ordered_keys()}
        states = {key: found.resource_version for key, found in confirmed.items() if found is not None}
        listed: dict[ObjectKey, int] = {}
        for reflector in self._reflectors:
            for raw in await reflector.listed():
                snapshot = self._decoder.snapshot(raw)
                listed[snapshot.key] = snapshot.resource_version
        return len(listed.items() ^ states.items())

    @property
    def info(self) -> ResourceInfo:
        """The kind."""
        return self._info

    @property
    def selection(self) -> str:
        """The label and field selectors, as text; empty for an informer of everything."""
        return ",".join(str(selector) for selector in (self._selector, self._fields) if selector)

    @property
    def objects(self) -> int:
        """How many objects the server has confirmed."""
        return len(self._store)

    @property
    def size(self) -> int:
        """How many bytes of JSON these are. Added up when it is asked for."""
        return self._store.size

    # Listening and indexes

    def add_handler(self, handler: Handler[R], *, resync: float | None = None) -> HandlerRegistration[R]:
        """Call this with every `Change`, from the event loop; what the store holds already is told before this returns.

        `resync` is a period in seconds after which everything is told again, from the store, as `resync`.
        """
        return self._handlers.add(handler, resync)

    def add_index(self, name: str, function: IndexFunction[R]) -> None:
        """One more index for `lister.by_index`. Adding the same one again changes nothing."""
        self._store.add_index(name, function)

    # Our own writes

    def written(self, answer: R | bytes) -> None:
        """Show the server's answer to a write of ours in all reads, until the watch delivers it."""
        raw = _json_of(answer)
        snapshot = self._decoder.snapshot(raw)
        key = snapshot.key
        if self.namespaces and key.namespace not in self.namespaces:
            return
        if snapshot.deleting and not is_kept(self._info, raw):  # as the write that removes the last finalizer answers
            self._overlay.removed(key, snapshot.uid, certain=True)
        elif not self._fields or self._overlay.get(key) is not None:
            # Whether a new object has the fields that we select by, only the server can tell.
            self._overlay.written(snapshot, hidden=not self._selects(raw))

    def removed(self, key: tuple[str, str], uid: str) -> None:
        """Hide an object that we deleted, until the watch tells its end, or that something still keeps it."""
        self._overlay.removed(ObjectKey(*key), uid)

    def _selects(self, raw: bytes) -> bool:
        """Whether the server sends this object: by its own labels, which a transform may have changed."""
        return self._selector is None or self._selector.matches(labels_of(raw))

    def _found_undecodable(self, snapshot: Snapshot[R], error: DecodeError) -> None:
        if self._undecodable.put(snapshot.key, snapshot.resource_version) == snapshot.resource_version:
            return
        self._undecodable_count += 1
        logger.warning("left out of a list: %s", error)

    def __repr__(self) -> str:
        return f"<Informer of {self._info}, {len(self._store)} objects, {self.health.state}>"


def _json_of(answer: Any) -> bytes:
    if isinstance(answer, bytes):
        return answer
    origin = answer.metadata.origin
    return encode(answer) if origin is None else cast("bytes", origin.raw)
