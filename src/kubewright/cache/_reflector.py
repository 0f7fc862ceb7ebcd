"""`Reflector`: keeps a store equal to the server, for one kind in one namespace or in all.

It reads everything once, as a stream where the server can do that (`sendInitialEvents`) and in pages otherwise, and
then watches from there. When a watch ends it goes on from the last revision it has seen; when the server has forgotten
that one (410), everything is read again, and what has gone meanwhile is told from the difference. While a list is
read, nothing is taken out of the store, and the cache does not count as synced, before the list is whole.

A batch of lines is worked off without awaiting anything: split, peek, store, handlers.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
from collections.abc import AsyncGenerator, Callable
from typing import Generic, TypeVar, cast

import msgspec

from kubewright.api import Object, info_of
from kubewright.api.wire import UNREADABLE
from kubewright.backoff import Backoff
from kubewright.cache._decoding import SnapshotDecoder, UnreadableObject, split_event
from kubewright.cache._errors import explain
from kubewright.cache._header import bookmark_decoder, revision_of
from kubewright.cache._health import WatchHealth
from kubewright.cache._key import ObjectKey
from kubewright.cache._list_watch import PAGE_SIZE, ListWatch
from kubewright.cache._overlay import Tombstones
from kubewright.cache._snapshot import Snapshot
from kubewright.cache._store_writer import StoreWriter
from kubewright.cache._watchdog import Stalled, Watchdog
from kubewright.client import ApiError, ConfigError, Expired, Forbidden, Gone, Invalid, NotFound, Status, WatchStream
from kubewright.clock import Clock
from kubewright.durations import format_duration
from kubewright.user_code import being_cancelled

__all__ = ["Reflector"]

logger = logging.getLogger("kubewright.cache")

R = TypeVar("R", bound=Object)

_FIRST_DELAY, _LONGEST_DELAY = 0.8, 30.0
"""Seconds between failed attempts to list or watch. The delays double from the first to the longest."""
_LIVED = 5.0
"""A watch that stood for that many seconds was a good one: what comes after it is no repeated failure. Not more, since
there are proxies that end every watch after a while, and while a reflector waits nobody hears of anything."""
_WATCH_SECONDS = (300, 600)
"""For how long watches are asked for, at random: so that servers of a cluster get an even share of them over time."""
_REMEMBERED = 30.0
"""A server that forgets sooner than that many seconds after a watch began is not asked for everything again at once."""
_LONGEST_PAUSE = 300.0
"""For how many seconds a server that asks for it is left alone: nobody hears of anything meanwhile."""
_status_decoder = msgspec.json.Decoder(Status)


class _List(Generic[R]):
    """A list that is being read: what it has shown so far."""

    def __init__(self, *, anything_to_lose: bool, tombstones: Tombstones) -> None:
        self.tombstones = tombstones
        # The keys are only needed to find what the store has and the list has not. Mostly the store is empty.
        self.seen: set[ObjectKey] | None = set() if anything_to_lose else None
        self.deleted: dict[ObjectKey, Snapshot[R]] = {}


class Reflector(Generic[R]):
    """One stream from the server into a store. `run` does not end by itself and survives all errors of the server."""

    def __init__(
        self,
        source: ListWatch[R],
        decoder: SnapshotDecoder[R],
        writer: StoreWriter[R],
        *,
        clock: Clock,
        rng: random.Random,
        stall_timeout: float,
        on_synced: Callable[[], None],
    ) -> None:
        self._source = source
        self._decoder = decoder
        self._writer = writer
        self._clock = clock
        self._rng = rng
        self._stall_timeout = stall_timeout
        self._on_synced = on_synced
        self._backoff = Backoff(first=_FIRST_DELAY, longest=_LONGEST_DELAY, rng=rng)
        self._relist_backoff = Backoff(first=_FIRST_DELAY, longest=_LONGEST_DELAY, rng=rng)
        self._streams = True
        self._position = ""
        self._list: _List[R] | None = None
        self._stands_since = math.inf
        self._forgotten = False  # by the server: it has answered 410 not long ago
        self._verb = "watch"
        self._logged = ""
        self.synced = False
        self.health = WatchHealth()

    async def run(self) -> None:
        """Keep the store equal to the server, until cancelled."""
        try:
            while True:
                self._stands_since = math.inf
                error: Exception | None = None
                try:
                    await self._run_once()
                except asyncio.CancelledError as raised:
                    if being_cancelled():
                        raise
                    error = RuntimeError("the request was cancelled, and not by us")
                    error.__cause__ = raised
                except Exception as raised:
                    error = raised
                stood = max(self._clock.monotonic() - self._stands_since, 0.0)
                await self._clock.sleep(await self._delay_after(error, stood))
        finally:
            self.health.state = "stopped"

    async def _run_once(self) -> None:
        """From wherever we are to the end of one watch."""
        if self._position:
            self.health.restarts += 1
            return await self._watch(initial=False)
        self.health.state = "listing"
        if self._streams:
            try:
                return await self._watch(initial=True)
            except ApiError as error:
                if not _refuses_streaming(error):
                    raise
                logger.debug("%s: no streaming lists here (%s), reading pages", self, error)
                self._streams = False
        await self._list_pages()
        return await self._watch(initial=False)

    async def listed(self) -> list[bytes]:
        """Ask the server for the objects that the store is to hold."""
        page = await self._source.page("", None)
        return [self._decoder.named(bytes(item)) for item in page.items or ()]

    # Failures

    async def _delay_after(self, error: Exception | None, stood: float) -> float:
        """How long to wait after a watch that stood for some seconds has ended, orderly when there is no error."""
        if stood >= _REMEMBERED:
            self._forgotten = False
            self._relist_backoff.reset()
        if stood >= _LIVED:
            self._backoff.reset()
            if error is None:
                return 0.0
        if error is None:
            self.health.state = "waiting"
            delay = self._backoff.next()
            logger.info(
                "%s: the server ended the watch after %s; again in %s",
                self,
                format_duration(stood),
                format_duration(delay),
            )
            return delay
        if isinstance(error, Gone):
            again, self._forgotten = self._forgotten, True
            logger.info("%s: the server has forgotten revision %s, reading everything again", self, self._position)
            self._position = ""
            return self._relist_backoff.next() if again else 0.0
        if isinstance(error, Stalled):
            self._note_stall()
        self.health.state = "waiting"
        self.health.last_error = await self._reason(error)
        if not isinstance(error, ApiError | ConfigError | Stalled):
            # Not the server's doing. What is in the store is no longer certain, so it is read again.
            self._position = ""
            logger.error("%s: unexpected error", self, exc_info=error)
        elif isinstance(error, NotFound):
            # The kind is gone, and its objects are, or it is another version's turn. When it is back, what happened
            # meanwhile may be known to nobody, although the server may not say so.
            self._position = ""
        delay = self._backoff.next()
        if isinstance(error, ApiError) and error.retry_after is not None:
            delay = max(delay, min(error.retry_after, _LONGEST_PAUSE))
        # Once for each thing that goes wrong; that it still does is for those who want to know. A stall is no failure:
        # a server on which nothing happens may have nothing to say.
        level = logging.INFO if isinstance(error, Stalled) else logging.WARNING
        level = logging.DEBUG if self.health.last_error == self._logged else level
        self._logged = self.health.last_error
        logger.log(level, "%s: %s; again in %s", self, self.health.last_error, format_duration(delay))
        return delay

    def _note_stall(self) -> None:
        self.health.stalls += 1
        if self._list is not None and self._streams:
            # A server that does not know streaming lists and ignores what it does not know never ends one.
            self._streams = False

    async def _reason(self, error: Exception) -> str:
        reason = explain(error, self._source.kind, self._verb)
        if isinstance(error, Forbidden) and not self.synced:
            other = await self._source.also_forbidden(self._verb)
            if other is not None:
                reason += f"; and {explain(other, self._source.kind, 'list' if self._verb == 'watch' else 'watch')}"
        return reason

    def _well(self) -> None:
        self._stands_since = self._clock.monotonic()
        self.health.state = "watching"
        if self._logged:
            logger.info("%s: watching again", self)
        self._logged = self.health.last_error = ""

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
                    # The pages so far are of a state that the server has forgotten: all at once, then.
                    self._begin_list(self._tombstones())
                    token, size = "", 0
                    continue
            self._heard()
            for item in page.items or ():
                try:
                    self._put(self._snapshot(self._decoder.named(bytes(item))))
                except UnreadableObject as error:
                    self._unreadable(error)
            token = page.metadata.continue_
            if not token:
                break
        self._end_list(page.metadata.resource_version)

    # Watches

    async def _watch(self, *, initial: bool) -> None:
        self._verb = "watch"
        seconds = self._rng.randint(*_WATCH_SECONDS)
        tombstones = self._tombstones() if initial else {}  # before the server is asked
        with Watchdog(self._clock, self._stall_timeout) as watchdog:
            stream = await self._source.watch(self._position, seconds=seconds, initial=initial)
            watchdog.heard()
            if not stream.may_stall():
                watchdog.trust(stream.may_stall)
            if initial:
                self._begin_list(tombstones)
            else:
                self._well()
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
                self._apply(lines)
                del lines  # or the last ones would live until others come

    def _heard(self) -> None:
        self.health.last_event_at, self.health.quiet_since = self._clock.now(), self._clock.monotonic()

    def _apply(self, lines: list[bytes]) -> None:
        """A batch of events, in order, without awaiting anything."""
        try:
            for line in lines:
                if line != b"\n":
                    self._apply_line(line)
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
            raise self._error(raw)
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
            self._well()
            self._mark_synced()

    def _error(self, raw: bytes) -> Exception:
        try:
            status = _status_decoder.decode(raw)
        except UNREADABLE as error:
            return UnreadableObject(f"not a status: {error}")
        gone = status.code == 410 or status.reason in ("Expired", "Gone")
        return (Expired if gone else ApiError)(status, f"watch {info_of(self._source.kind).plural}")

    # Into the store

    def _snapshot(self, raw: bytes) -> Snapshot[R]:
        snapshot = self._decoder.snapshot(raw)
        if snapshot.problem:
            self.health.undecodable += 1
            logger.warning("%s cannot be used: %s", snapshot, snapshot.problem)
        return snapshot

    def _put(self, snapshot: Snapshot[R]) -> None:
        if self._list is not None:
            self._list.deleted.pop(snapshot.key, None)
            if self._list.seen is not None:
                self._list.seen.add(snapshot.key)
        self._writer.put(snapshot, initial=not self.synced)

    def _unreadable(self, error: UnreadableObject) -> None:
        self.health.undecodable += 1
        logger.error("%s: the server sent something unreadable, which is left out: %s", self, error)

    def _tombstones(self) -> Tombstones:
        return self._writer.overlay.tombstones(self._source.namespace)

    def _begin_list(self, tombstones: Tombstones) -> None:
        # A list that broke off has left objects in the store, so "nothing was ever listed" is not "empty".
        anything = bool(self._writer.store.ordered_keys(self._source.namespace))
        self._list = _List(anything_to_lose=anything, tombstones=tombstones)

    def _end_list(self, resource_version: str) -> None:
        """The list is whole: what it lacks is gone."""
        reading, self._list = self._list, None
        assert reading is not None
        if self.synced:
            self.health.relists += 1
        revision = revision_of(resource_version)
        if revision < revision_of(self.health.resource_version):
            self._writer.overlay.clear(self._source.namespace)
        for last in reading.deleted.values():
            self._writer.remove(last)
        if reading.seen is not None:
            self._writer.remove_all_but(reading.seen, self._source.namespace, revision)
        self._writer.reveal(reading.tombstones)
        self._position = resource_version
        self._passed()

    def _passed(self) -> None:
        """Everything up to the position is in the store."""
        self.health.resource_version = self._position
        self._writer.overlay.passed(self._source.namespace, revision_of(self._position))

    def _mark_synced(self) -> None:
        if not self.synced:
            self.synced = True
            self._on_synced()

    def __str__(self) -> str:
        kind = info_of(self._source.kind)
        return f"{kind} in {self._source.namespace}" if self._source.namespace else str(kind)


def _refuses_streaming(error: ApiError) -> bool:
    """How servers without streaming lists answer, or those where they are switched off."""
    return isinstance(error, Invalid) or error.code in (400, 422)
