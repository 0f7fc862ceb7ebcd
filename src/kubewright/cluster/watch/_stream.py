"""Watches: the events after a revision, and all later ones.

Storage notifies a `WatchStream` of each write, during the write. The stream decides whether the event matches its
selectors and puts the encoded event into its queue. All watches with the same output format share the bytes.

The memory of a watch is bounded. The objects and events that it starts with are encoded as the client reads them; until
then it only references objects that storage keeps anyway. If more than 16 MiB of newer events wait for the client, the
watch ends, as in kube-apiserver when a buffer is full. The client then watches again from its last revision. Long
before that, writers yield to the event loop after each write, so that a reader in this process keeps up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from itertools import islice
from typing import Final

from kubewright.clock import Timer
from kubewright.cluster._state import State
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.conversion._webhook import AsyncConversion, convert_entries, retry_converting
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import Failure, expired
from kubewright.cluster.machinery._responses import ApiResponse, encode
from kubewright.cluster.machinery._work_budget import PROCESSED, SCANNED, WorkBudget
from kubewright.cluster.output._format import OutputFormat, output_format
from kubewright.cluster.registry._read import check_list_options, horizon_of, requested_revision, wait_for_revision
from kubewright.cluster.registry._selection import Selection, selection_of
from kubewright.cluster.storage._storage import Compacted, Entry, Event
from kubewright.cluster.watch._bookmarks import bookmark_object

__all__ = ["BOOKMARK_SECONDS", "MAX_PENDING_BYTES", "WatchStream", "watch"]

BOOKMARK_SECONDS: Final = 60.0
# minimum duration of a watch in seconds if the client sets no timeout; the maximum is twice as long
_MIN_SECONDS: Final = 1800
MAX_PENDING_BYTES: Final = 2**24
_BACKLOG_BYTES: Final = 2**20  # above this, writers yield to readers
_EVENT_OVERHEAD: Final = 500  # bytes of memory per event besides its content
_CONVERTED_AT_ONCE: Final = 500
_CHUNK_BYTES: Final = 2**18  # sent in one piece: a connection buffers the whole chunk


async def watch(state: State, call: Call) -> ApiResponse:
    """Handles GET of a collection with `watch=true`."""
    output = output_format(call)
    check_list_options(call)
    requested = requested_revision(call)
    initial = call.query.get("sendInitialEvents")
    watcher = WatchStream(state, call, output, selection_of(call))
    if call.flag("sendInitialEvents"):
        # Without a revision, the initial events are consistent: they wait for a cache that lags behind.
        consistent = not call.query.get("resourceVersion")
        await wait_for_revision(state, state.storage.revision if consistent else requested, call)
    try:
        if call.flag("sendInitialEvents"):
            watcher.begin_with_everything()
            if call.flag("allowWatchBookmarks"):
                watcher.bookmark(ends_initial_events=True)
        elif requested == 0 and initial is None:
            watcher.begin_with_everything()
        else:
            watcher.begin_after(requested or watcher.newest)
    except Compacted as error:
        failure = expired(f"too old resource version: {error.revision} ({error.oldest})")
        watcher.fail(failure)
    watcher.start(call.number("timeoutSeconds"))
    return ApiResponse(stream=watcher, warnings=call.warnings, content_type=output.content_type)


class WatchStream:
    """A watch: the stream of its response."""

    __slots__ = (
        "__weakref__",
        "_bookmarks",
        "_budget",
        "_call",
        "_closed",
        "_first_table",
        "_live_after",
        "_output",
        "_queue",
        "_queued",
        "_remote",
        "_selection",
        "_since",
        "_state",
        "_timers",
        "_unread",
        "_waiter",
        "_waiting",
        "_when_closed",
    )  # fmt: skip

    def __init__(self, state: State, call: Call, output: OutputFormat, selection: Selection) -> None:
        self._state = state
        self._call = call
        self._output = output
        self._selection = selection
        self._budget = WorkBudget()  # of reading, for the whole watch
        self._queue: deque[bytes] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._closed = False  # if set, no more events are queued; queued ones are still sent
        self._bookmarks = call.flag("allowWatchBookmarks")
        self._first_table = True
        self._since = 0
        self._timers: list[Timer] = []
        self._remote = isinstance(output.type.conversion, AsyncConversion)
        self._when_closed: Callable[[], None] | None = None
        self._live_after: int | None = None  # events after this revision are newer than the watch
        self._queued = 0  # bytes in the queue
        self._waiting = 0  # bytes of events in `_unread` that are newer than the watch
        # Not encoded yet: the objects and events that the watch started with, events that arrived before those were
        # read, and all events of kinds that a webhook converts. Items of type bytes are frames that belong between
        # them.
        self._unread: deque[Entry | Event | bytes] = deque()

    @property
    def storage(self) -> str:
        """The storage name of the objects that it shows."""
        return self._call.type.storage

    @property
    def user(self) -> str:
        """The user that watches."""
        return self._call.user.name

    @property
    def client(self) -> str:
        """The User-Agent of the client that watches."""
        return self._call.header("User-Agent")

    @property
    def newest(self) -> int:
        """The revision of the last event, whether delivered or not."""
        horizon = horizon_of(self._state, self._call)
        return self._state.storage.revision if horizon is None else horizon

    def may_stall(self) -> bool:
        """Whether a laboratory may withhold its events."""
        gate = self._state.gate
        return gate is not None and gate.disturbs(self.storage)

    # Start

    def begin_with_everything(self) -> None:
        """Starts with an ADDED event for each existing object."""
        call, horizon = self._call, horizon_of(self._state, self._call)
        self._unread.extend(self._state.storage.entries(call.type.storage, call.namespace, revision=horizon))
        if horizon is None:
            self._subscribe()
        else:
            self.begin_after(horizon)

    def begin_after(self, revision: int) -> None:
        """Starts with the events after a revision. Raises `Compacted`."""
        call = self._call
        self._since = revision  # may be in the future
        for event in self._state.storage.events(call.type.storage, revision, call.namespace, self._selection.name):
            self.offer(event)
        self._subscribe()

    def fail(self, failure: Failure) -> None:
        """Ends the watch with an ERROR event."""
        self.deliver(encode({"type": "ERROR", "object": failure.status}) + b"\n")
        self._closed = True

    def start(self, timeout: int | None) -> None:
        """Starts the timers for the end of the watch and for bookmarks.

        A client that accepts bookmarks resumes where it was, so neither of them is an event for it and both are
        deferrable. They are not if a laboratory disturbs the watch: clients detect a stalled one by a missing bookmark.
        """
        state = self._state
        state.watchers[self] = None
        if self._closed:
            return
        seconds = timeout if timeout else _MIN_SECONDS * (1 + self._life())
        deferrable = self._bookmarks and not self.may_stall()
        self._timers.append(state.clock.call_later(seconds, self.end, deferrable=deferrable))
        if self._bookmarks:
            self._set_bookmark_timer()

    def _life(self) -> float:
        """Returns a number from 0 to 1 that depends on the user and the kind, and not on other watches."""
        return self._state.identities.fraction("watch", self._call.user.name, self._call.type.storage)

    def _subscribe(self) -> None:
        call = self._call
        self._live_after = self._state.storage.revision
        self._state.storage.subscribe(call.type.storage, self, call.namespace, self._selection.name)

    # Events

    def offer(self, event: Event) -> None:
        """Handles a write."""
        if self._closed or event.revision <= self._since:
            return
        if self._unread or self._remote or self._live_after is None:
            self._unread.append(event)
            self._waiting += self._size(event)
            self._wake()
        else:
            self._take(event)
        pending = self._queued + self._waiting
        if pending > _BACKLOG_BYTES:
            self._state.watch_backlog = True
        if pending > MAX_PENDING_BYTES:
            self._queue.clear()
            self._unread.clear()
            self._queued = self._waiting = 0
            self.end()

    def _size(self, item: Entry | Event | bytes) -> int:
        """Returns the size of an unread item; 0 for those that the watch started with, which storage keeps anyway."""
        if not isinstance(item, Event) or self._live_after is None or item.revision <= self._live_after:
            return 0
        return _EVENT_OVERHEAD + len(item.entry.raw) + (len(item.previous.raw) if item.previous is not None else 0)

    async def _read(self) -> None:
        """Encodes unread items, at most a chunk, over several turns. Ends the watch if a conversion fails."""
        decodes = self._output.decodes or self._selection.decodes
        cost = PROCESSED if decodes else SCANNED
        try:
            if self._remote:
                await convert_entries(self._output.type, _entries(islice(self._unread, _CONVERTED_AT_ONCE)))
            while self._unread and self._queued < _CHUNK_BYTES:
                item = self._unread[0]
                if self._remote:
                    await retry_converting(partial(self._encode, item))
                    if not self._unread:  # the queue overflowed and was cleared
                        return
                else:
                    self._encode(item)
                self._unread.popleft()
                self._waiting -= self._size(item)
                await self._budget.spend(cost)  # events of that time are queued: behind unread items, or as frames
        except Failure as failure:
            self._unread.clear()
            self._waiting = 0
            self.fail(failure)

    def _encode(self, item: Entry | Event | bytes) -> None:
        """Queues the frame of an unread item."""
        if isinstance(item, Event):
            self._take(item)
        elif isinstance(item, bytes):
            self.deliver(item)
        elif self._selection.selects_all or self._selection.matches(item):
            self.deliver(self._frame("ADDED", item))

    def _take(self, event: Event) -> None:
        if self._selection.selects_all:
            kind: str | None = event.kind
            entry = event.entry
        else:
            kind, entry = self._selected(event)
        if kind is None:
            return
        if self._output.form == "Table":
            frame = self._frame(kind, entry)
        else:
            key = (self._output, kind)
            shared: bytes | None = event.frames.get(key)
            if shared is None:
                shared = event.frames[key] = self._frame(kind, entry)
            frame = shared
        self._put(frame, event)

    def _selected(self, event: Event) -> tuple[str | None, Entry]:
        """Returns the event as seen through the selectors: objects come and go as they start or stop matching."""
        matches = self._selection.matches
        now = event.kind != "DELETED" and matches(event.entry)
        before = event.previous is not None and matches(event.previous)
        if now:
            return ("MODIFIED" if before else "ADDED"), event.entry
        if not before:
            return None, event.entry
        assert event.previous is not None
        if event.kind == "DELETED":
            return "DELETED", event.entry
        # The object no longer matches: the client gets its last matching state, with the revision of the change.
        last = event.frames.get("left")
        if last is None:
            last = event.frames["left"] = _at_revision(event.previous, event.revision)
        return "DELETED", last

    def _frame(self, kind: str, entry: Entry) -> bytes:
        if self._output.form == "Table":
            table = self._output.table(self._state, [decoded(self._output.type, entry)], {}, first=self._first_table)
            self._first_table = False
            return encode({"type": kind, "object": table}) + b"\n"
        return b'{"type":"' + kind.encode() + b'","object":' + self._output.encode_entry(self._state, entry) + b"}\n"

    def bookmark(self, *, ends_initial_events: bool = False) -> None:
        """Sends a bookmark with the current revision."""
        blank = bookmark_object(self._state, self._output, self.newest, ends_initial_events=ends_initial_events)
        frame = encode({"type": "BOOKMARK", "object": blank}) + b"\n"
        if ends_initial_events:
            self._unread.append(frame)
        else:
            self._put(frame, None)

    def _regular_bookmark(self) -> None:
        if not self._closed:
            if not self._unread:  # a bookmark asserts that all earlier events were sent
                self.bookmark()
            self._timers.pop()
            self._set_bookmark_timer()

    def _set_bookmark_timer(self) -> None:
        deferrable = not self.may_stall()
        timer = self._state.clock.call_later(BOOKMARK_SECONDS, self._regular_bookmark, deferrable=deferrable)
        self._timers.append(timer)

    def _put(self, frame: bytes, event: Event | None) -> None:
        gate = self._state.gate
        if gate is None or not gate.holds(self, frame, event):
            self.deliver(frame)

    def deliver(self, frame: bytes) -> None:
        """Sends a frame to the client, after the frames that it has not read yet."""
        self._queue.append(frame)
        self._queued += len(frame) + _EVENT_OVERHEAD
        self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # The stream

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yields the queued events in chunks."""
        try:
            while True:
                if self._queue:
                    yield self._chunk()
                elif self._unread:
                    await self._read()
                elif self._closed:
                    return
                else:
                    self._waiter = asyncio.get_running_loop().create_future()
                    await self._waiter
        finally:
            self.close()

    def _chunk(self) -> bytes:
        """Returns the next frames, up to the size of a chunk."""
        queue = self._queue
        frames, size = [queue.popleft()], 0
        while queue and (size := size + len(frames[-1])) < _CHUNK_BYTES:
            frames.append(queue.popleft())
        self._queued -= sum(map(len, frames)) + _EVENT_OVERHEAD * len(frames)
        return frames[0] if len(frames) == 1 else b"".join(frames)

    def end(self) -> None:
        """Queues no further events. The client reads the queued ones, then the end of the stream."""
        self._closed = True
        # Not now, because storage may be notifying its subscribers. Not after the client read the rest, because it may
        # never.
        asyncio.get_running_loop().call_soon(self.close)
        self._wake()

    def close(self) -> None:
        """Ends the watch immediately. Further calls do nothing."""
        self._closed = True
        self._state.watchers.pop(self, None)
        for timer in self._timers:
            timer.cancel()
        call = self._call
        self._state.storage.unsubscribe(call.type.storage, self, call.namespace, self._selection.name)
        self._wake()
        closed, self._when_closed = self._when_closed, None
        if closed is not None:
            closed()

    def when_closed(self, callback: Callable[[], None]) -> None:
        """Calls `callback` once when the watch has ended."""
        self._when_closed = callback


def _entries(items: Iterable[Entry | Event | bytes]) -> list[Entry]:
    """Returns the objects of these items, including those before an event."""
    both = ((item.entry, item.previous) if isinstance(item, Event) else (item,) for item in items)
    return [entry for each in both for entry in each if isinstance(entry, Entry)]


def _at_revision(entry: Entry, revision: int) -> Entry:
    obj = entry.decode()
    obj["metadata"]["resourceVersion"] = str(revision)
    return Entry(entry.namespace, entry.name, revision, encode(obj), entry.labels, entry.version)
