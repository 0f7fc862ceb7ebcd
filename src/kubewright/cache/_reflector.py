"""`Reflector`: keeps a store equal to the server, for one kind in one namespace or in all.

It lists all objects once and then watches from there. The list is a stream where the server supports that
(`sendInitialEvents`), and comes in pages otherwise. A watch that ends is reopened at the last resourceVersion. If the
server has expired that resourceVersion (410 Gone), the reflector lists again and reports the difference. Until a list
is complete, nothing is removed from the store and the reflector is not synced.

Events are applied one after the other without awaiting anything: split, decode the header, store, call handlers. Only
if functions of the user were slow do other tasks run between two events.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Generic, NoReturn, TypeVar, cast

from kubewright.api import Object, info_of
from kubewright.api.wire import UNREADABLE
from kubewright.cache._decoding import SnapshotDecoder, UnreadableObject, split_event
from kubewright.cache._errors import CacheSyncError, explain
from kubewright.cache._handlers import Handler, Handlers
from kubewright.cache._header import bookmark_decoder, revision_of
from kubewright.cache._health import WatchHealth
from kubewright.cache._list_watch import PAGE_SIZE, ListWatch, refuses_streaming
from kubewright.cache._overlay import Overlay, Tombstones
from kubewright.cache._retries import RetryDelays
from kubewright.cache._snapshot import Snapshot
from kubewright.cache._store import Store
from kubewright.cache._store_writer import ListReading, StoreWriter
from kubewright.cache._sync import Synced
from kubewright.cache._watchdog import Stalled, Watchdog
from kubewright.client import ApiError, ConfigError, Expired, Forbidden, Gone, NotFound
from kubewright.client.watch import WatchAttempt, WatchAttempts, WatchStream, event_error
from kubewright.clock import Clock, SystemClock
from kubewright.durations import Duration, check_duration, format_duration

__all__ = ["Reflector"]

logger = logging.getLogger("kubewright.cache")

R = TypeVar("R", bound=Object)

_WATCH_SECONDS = (300, 600)
"""The range of timeouts that watches ask for, at random, so that they spread evenly over the API servers."""


class Reflector(Generic[R]):
    """Copies the objects of a `ListWatch` into a `Store` and keeps them up to date.

    `run` does not return: it retries after every error of the server, with backoff, until it is cancelled. `handlers`
    receive every change after it is in the store, in the order of the server. Several reflectors may fill one store if
    their namespaces differ.

    Use an `Informer` if you need resyncs, several namespaces, or reads that include your own writes.
    """

    def __init__(
        self,
        source: ListWatch[R],
        store: Store[R],
        *,
        handlers: Sequence[Handler[R]] = (),
        decoder: SnapshotDecoder[R] | None = None,
        stall_timeout: Duration = 180.0,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        writer: StoreWriter[R] | None = None,
        on_synced: Callable[[], None] = lambda: None,
        on_served: Callable[[bool], None] | None = None,
    ) -> None:
        """Connects a source to a store.

        Args:
            source: the list and watch requests.
            store: the store to fill.
            handlers: functions that are called with each `Change`. They must not block.
            decoder: makes snapshots of the server's bytes. Default: one for the kind of the source.
            stall_timeout: the time without data after which a watch is reopened. Servers send a bookmark each minute.
            clock: time. Default: the system clock.
            rng: randomness for delays.
            writer: writes to the store and notifies handlers. Default: one that calls `handlers`.
            on_synced: called once, when the first list is complete and the watch is open.
            on_served: makes the kind optional: while the server does not serve it, the store is empty and synced.
                Called with False when the server does not serve the kind, and with True when it does; repeatedly.
        """
        self._clock = clock or SystemClock()
        if writer is None:
            own: Handlers[R] = Handlers(store, self._clock)
            for handler in handlers:
                own.add(handler, None)
            writer = StoreWriter(store, Overlay(store), own.deliver)
        self._source = source
        self._decoder = decoder or SnapshotDecoder(source.kind, metadata_only=source.metadata_only)
        self._writer = writer
        self._rng = rng or random.Random()  # noqa: S311  # jitter, not a secret
        self._stall_timeout = check_duration("stall_timeout", stall_timeout, zero=False)
        self._on_synced = on_synced
        self._on_served = on_served
        self._retries = RetryDelays(self._rng)
        self._streams = True
        self._position = ""
        self._list: ListReading[R] | None = None
        self._attempt = WatchAttempt(self._clock)
        self._verb = "watch"
        self._logged = ""
        self._synced = Synced()
        self.health = WatchHealth()

    @property
    def synced(self) -> bool:
        """Whether the first list is complete in the store and the watch is open."""
        return bool(self._synced)

    async def wait_for_sync(self, timeout: Duration) -> None:
        """Waits until it is synced. Raises `CacheSyncError` with the reason after that many seconds."""
        seconds = check_duration("timeout", timeout)
        if not await self._synced.wait(self._clock, seconds):
            reason = self.health.last_error or "the server has not answered yet"
            raise CacheSyncError(seconds, {str(info_of(self._source.kind)): reason})

    async def run(self) -> None:
        """Keeps the store equal to the server until it is cancelled."""
        try:
            async for attempt in WatchAttempts(self._clock, self._delay_after):
                self._attempt = attempt
                with attempt:
                    await self._run_once()
        finally:
            self.health.state = "stopped"

    async def _run_once(self) -> None:
        """Lists if necessary, and watches until the watch ends."""
        if self._position:
            self.health.restarts += 1
            return await self._watch(initial=False)
        self.health.state = "listing"
        if self._streams:
            try:
                return await self._watch(initial=True)
            except ApiError as error:
                if not refuses_streaming(error):
                    raise
                logger.debug("%s: the server does not support streaming lists (%s); listing in pages", self, error)
                self._streams = False
        await self._list_pages()
        return await self._watch(initial=False)

    async def listed(self) -> list[bytes]:
        """Lists the objects on the server that the store should contain."""
        page = await self._source.page("", None)
        return [self._decoder.named(bytes(item)) for item in page.items or ()]

    async def _delay_after(self, attempt: WatchAttempt) -> float:
        """Returns how long to wait before the next attempt."""
        error, lasted = attempt.error, attempt.lasted
        self._retries.watch_lasted(lasted)
        if error is None:
            delay = self._retries.after_end(lasted)
            if delay:
                self.health.state = "waiting"
                after, pause = format_duration(lasted), format_duration(delay)
                logger.info("%s: the server ended the watch after %s; retrying in %s", self, after, pause)
            return delay
        if isinstance(error, Gone):
            logger.info("%s: watch expired at resourceVersion %s (410 Gone); relisting", self, self._position)
            self._position = ""
            return self._retries.after_expiry()
        if isinstance(error, NotFound) and self._on_served is not None:
            self._absent(self._on_served)
            return self._retries.after_error(error)
        if isinstance(error, Stalled):
            self._note_stall()
        self.health.state = "waiting"
        self.health.last_error = await self._reason(error)
        if not isinstance(error, ApiError | ConfigError | Stalled):
            # Not an error of the server. The store may be incomplete, so list again.
            self._position = ""
            logger.error("%s: unexpected error", self, exc_info=error)
        elif isinstance(error, NotFound):
            # The kind was removed, with its objects or in favor of another version. When it is served again, its
            # history may be lost without a 410.
            self._position = ""
        delay = self._retries.after_error(error)
        # Log each problem once; repetitions at debug level. A stall need not be a failure: a quiet server may have
        # nothing to send.
        level = logging.INFO if isinstance(error, Stalled) else logging.WARNING
        level = logging.DEBUG if self.health.last_error == self._logged else level
        self._logged = self.health.last_error
        logger.log(level, "%s: %s; retrying in %s", self, self.health.last_error, format_duration(delay))
        return delay

    def _absent(self, on_served: Callable[[bool], None]) -> None:
        """Empties the store of an optional kind that is not served. Its objects may exist in another version."""
        self._position = self._logged = self.health.last_error = ""
        self._list = None
        self.health.state = "absent"
        self._writer.drop(self._source.namespace)
        on_served(False)
        self._mark_synced()

    def _note_stall(self) -> None:
        self.health.stalls += 1
        if self._list is not None and self._streams:
            # A server that ignores `sendInitialEvents` never ends the list.
            self._streams = False

    async def _reason(self, error: Exception) -> str:
        reason = explain(error, self._source.kind, self._verb)
        if isinstance(error, Forbidden) and not self.synced:
            other = await self._source.also_forbidden(self._verb)
            if other is not None:
                reason += f"; and {explain(other, self._source.kind, 'list' if self._verb == 'watch' else 'watch')}"
        return reason

    def _watching(self) -> None:
        self._attempt.opened()
        self.health.state = "watching"
        if self._logged:
            logger.info("%s: watching again", self)
        self._logged = self.health.last_error = ""
        if self._on_served is not None:
            self._on_served(True)

    # Lists in pages

    async def _list_pages(self) -> None:
        self._verb = "list"
        self._begin_list(self._tombstones())
        token, size = "", PAGE_SIZE
        while True:
            with Watchdog(self._clock, self._stall_timeout):
                try:
                    page = await self._source.page(token, size or None)
                except Expired:
                    if not token:
                        raise
                    # The server has expired the revision of the earlier pages: list everything in one response.
                    self._begin_list(self._tombstones())
                    token, size = "", 0
                    continue
            self._heard()
            for item in page.items or ():
                try:
                    self._put(self._snapshot(self._decoder.named(bytes(item))))
                except UnreadableObject as error:
                    self._unreadable(error)
                if self._writer.store.loop_time.slice_is_over:
                    await asyncio.sleep(0)
            token = page.metadata.continue_
            if not token:
                break
        self._end_list(page.metadata.resource_version)

    # Watches

    async def _watch(self, *, initial: bool) -> None:
        self._verb = "watch"
        seconds = self._rng.randint(*_WATCH_SECONDS)
        tombstones = self._tombstones() if initial else {}  # before the request is sent
        with Watchdog(self._clock, self._stall_timeout) as watchdog:
            stream = await self._source.watch(self._position, seconds=seconds, initial=initial)
            watchdog.heard()
            if not stream.may_stall():
                watchdog.trust(stream.may_stall)
            if initial:
                self._begin_list(tombstones)
            else:
                self._watching()
                self._mark_synced()
            try:
                await self._follow(stream, watchdog)
            finally:
                stream.close()

    async def _follow(self, stream: WatchStream, watchdog: Watchdog) -> None:
        arriving = cast("AsyncGenerator[list[bytes], None]", stream.batches())
        async with contextlib.aclosing(arriving) as batches:
            async for lines in batches:
                watchdog.heard()
                self._heard()
                await self._apply(lines)
                del lines  # otherwise the last batch stays in memory until the next one arrives

    def _heard(self) -> None:
        self.health.last_event_at, self.health.quiet_since = self._clock.now(), self._clock.monotonic()

    async def _apply(self, lines: list[bytes]) -> None:
        """Applies a batch of events in order. Awaits nothing unless functions of the user were slow."""
        loop_time = self._writer.store.loop_time
        try:
            for line in lines:
                if line != b"\n":
                    self._apply_line(line)
                    if loop_time.slice_is_over:
                        await asyncio.sleep(0)
        finally:
            if self._position and self._list is None:
                self._passed()

    def _apply_line(self, line: bytes) -> None:
        try:
            self._apply_event(*split_event(line))
        except UnreadableObject:
            try:
                self._apply_event(*split_event(line, exactly=True))
            except UnreadableObject as error:
                self._unreadable(error)

    def _apply_event(self, event: str, raw: bytes) -> None:
        if event == "BOOKMARK":
            self._bookmark(raw)
        elif event == "ERROR":
            self._raise_error(raw)
        else:
            snapshot = self._snapshot(raw)
            if event != "DELETED":
                self._put(snapshot)
            elif self._list is not None:
                self._list.deleted[snapshot.key] = snapshot
            else:
                self._writer.remove(snapshot)
            if self._list is None and snapshot.resource_version:
                self._position = str(snapshot.resource_version)

    def _bookmark(self, raw: bytes) -> None:
        try:
            bookmark = bookmark_decoder.decode(raw)
        except UNREADABLE as error:
            raise UnreadableObject(f"not a bookmark: {error}") from None
        if self._list is None:
            self._position = bookmark.metadata.resource_version or self._position
        elif bookmark.ends_initial_events:
            self._end_list(bookmark.metadata.resource_version)
            self._watching()
            self._mark_synced()

    def _raise_error(self, raw: bytes) -> NoReturn:
        try:
            found = event_error(raw, f"watch {info_of(self._source.kind).plural}")
        except UNREADABLE as error:
            raise UnreadableObject(f"not a status: {error}") from None
        raise found

    # Into the store

    def _snapshot(self, raw: bytes) -> Snapshot[R]:
        snapshot = self._decoder.snapshot(raw)
        if snapshot.problem:
            self.health.undecodable += 1
            logger.warning("%s cannot be used: %s", snapshot, snapshot.problem)
        return snapshot

    def _put(self, snapshot: Snapshot[R]) -> None:
        if self._list is not None:
            self._list.add(snapshot.key)
        self._writer.put(snapshot, initial=not self.synced)

    def _unreadable(self, error: UnreadableObject) -> None:
        self.health.undecodable += 1
        logger.error("%s: skipped unreadable data from the server: %s", self, error)

    def _tombstones(self) -> Tombstones:
        return self._writer.overlay.tombstones(self._source.namespace)

    def _begin_list(self, tombstones: Tombstones) -> None:
        # An interrupted list leaves objects in the store, so the store may have content before the first full list.
        anything = bool(self._writer.store.ordered_keys(self._source.namespace))
        self._list = ListReading(anything_to_lose=anything, tombstones=tombstones)

    def _end_list(self, resource_version: str) -> None:
        """Completes a list: objects that it lacks are gone."""
        reading, self._list = self._list, None
        assert reading is not None
        if self.synced:
            self.health.relists += 1
        revision = revision_of(resource_version)
        if revision < revision_of(self.health.resource_version):
            self._writer.overlay.clear(self._source.namespace)
        self._writer.finish(reading, self._source.namespace, revision)
        self._position = resource_version
        self._passed()

    def _passed(self) -> None:
        """Records that the store contains everything up to the position."""
        self.health.resource_version = self._position
        self._writer.overlay.passed(self._source.namespace, revision_of(self._position))

    def _mark_synced(self) -> None:
        if not self.synced:
            self._synced.set()
            self._on_synced()

    def __str__(self) -> str:
        kind = info_of(self._source.kind)
        return f"{kind} in {self._source.namespace}" if self._source.namespace else str(kind)
