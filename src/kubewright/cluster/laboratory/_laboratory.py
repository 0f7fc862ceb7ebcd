"""`Laboratory`: everything that a test can arrange with a cluster."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from kubewright.cluster.dispatch._dispatcher import Dispatcher
from kubewright.cluster.laboratory._faults import (
    Decision,
    Failing,
    Fault,
    Incoming,
    Outcome,
    is_create_conflict,
    matcher,
    refusal,
    refuse_impossible,
)
from kubewright.cluster.laboratory._history import History, Request, Revision, current
from kubewright.cluster.laboratory._kinds import Kind, known_resource_of, storage_of
from kubewright.cluster.laboratory._snapshots import Snapshot, rewind, take
from kubewright.cluster.laboratory._watches import Delayed, Disturbance, Dropped, Frozen, Gates, Reordered, Stale
from kubewright.cluster.machinery._answers import Answer, NoAnswer
from kubewright.cluster.machinery._calls import Call

__all__ = ["Laboratory"]

_REMEMBERED: Final = 100_000


class Laboratory:
    """What can be arranged with a cluster; `cluster.lab` has one, from its first use on.

    `writes` counts the requests since then that asked for a change; `history` knows what they wrote.
    """

    def __init__(self, dispatcher: Dispatcher, rng: random.Random) -> None:
        self._state = dispatcher.state
        self._dispatcher = dispatcher
        self._rng = rng
        self._faults: list[Fault] = []
        self._gates = Gates()
        self._history = History(self._state, _REMEMBERED)
        self._silent: set[asyncio.Future[None]] = set()
        self.writes = 0
        self._state.gate = self._gates
        dispatcher.around = self._around

    def close(self) -> None:
        """End everything that was arranged; those who wait for an answer that never comes lose their connection."""
        self._dispatcher.around = None
        self._state.gate = None
        self._faults.clear()
        self._gates.end()
        self._history.close()
        for waiting in self._silent:
            _let_go(waiting)

    # Requests

    def fail(
        self,
        *,
        verb: str = "",
        kind: Kind = "",
        namespace: str = "",
        name: str = "",
        user: str = "",
        subresource: str | None = None,
        nth: int = 1,
        times: int | None = 1,
        status: Outcome = 500,
        committed: bool = False,
        retry_after: int | None = None,
    ) -> Fault:
        """Let the n-th matching request from now on fail, and the following ones: `times` in all, None for all.

        What is not given matches everything; without a verb these are the writes, and dry runs are none. `patch` is
        also server-side apply, which `apply` alone is.

        Args:
            verb: create, update, patch, apply, delete, deletecollection, get, list or watch.
            kind: a class, or the name of its resource, `deployments.apps`.
            namespace: of the objects.
            name: of the object; for a create, the one in its body.
            user: who asks.
            subresource: `status` or `scale`; "" for the object itself, both unless given.
            nth: which of them fails first.
            times: how many fail.
            status: what the client gets: a status from 400 to 599, such as 409, 429, 500, 503, 504; `lost` for a
                connection that ends without an answer; `timeout` for an answer that never comes, until the client
                gives up. Creates do not fail with 409 unless `committed`: only an object that is there conflicts.
            committed: whether the request is done all the same.
            retry_after: the seconds of a Retry-After header; 1 for 429 unless given.
        """
        if nth < 1 or (times is not None and times < 1):
            raise ValueError(f"nth and times count from 1, got nth={nth}, times={times}")
        matches = matcher(
            verb=verb,
            resource=known_resource_of(self._state, kind) if kind else "",
            namespace=namespace,
            name=name,
            subresource=subresource,
            user=user,
        )
        failing = Failing(status, committed, retry_after)
        refuse_impossible(failing, verb)
        fault: Fault

        def decide(incoming: Incoming) -> Failing | None:
            return failing if fault.seen >= nth and (times is None or fault.seen < nth + times) else None

        fault = self._arranged(lambda one: matches(one) and not is_create_conflict(failing, one.verb), decide)
        return fault

    def on_request(self, decide: Decision) -> Fault:
        """Ask a function about every request for a resource: how it fails, or None to let it be served.

        It sees reads and dry runs, too. It must not block; what it raises fails the request with a 500.
        """
        return self._arranged(lambda _: True, decide)

    def _arranged(self, matches: Callable[[Incoming], bool], decide: Decision) -> Fault:
        fault = Fault(matches, decide, lambda ended: self._faults.remove(ended) if ended in self._faults else None)
        self._faults.append(fault)
        return fault

    async def _around(self, call: Call, serve: Callable[[Call], Awaitable[Answer]]) -> Answer:
        incoming = Incoming.of(call)
        self.writes += incoming.writes
        request = Request(call)
        token = current.set(request)
        try:
            struck = [failing for fault in list(self._faults) if (failing := fault.strike(incoming)) is not None]
            if not struck:
                return await serve(call)
            failing = struck[0]
            if failing.committed:
                (await serve(call)).close()
        finally:
            request.call = None
            current.reset(token)
        if failing.status == "timeout":
            await self._never(call)
        if isinstance(failing.status, str):
            raise NoAnswer(timeout=failing.status == "timeout")
        raise refusal(call, incoming, failing.status, failing.retry_after)

    async def _never(self, call: Call) -> None:
        """Let the client wait for as long as it wants to: until it goes, or the cluster does."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._silent.add(waiting)
        seconds = call.request.timeout  # known of clients in this process alone; others hang up by themselves
        timer = None
        if seconds is not None:
            timer = self._state.clock.call_later(seconds, partial(_let_go, waiting))
        try:
            await waiting
        finally:
            self._silent.discard(waiting)
            if timer is not None:
                timer.cancel()

    # Watches and reads

    def frozen_watch(self, kind: Kind) -> Disturbance:
        """Hold back all events of a kind until the end of the block: `async with lab.frozen_watch(Deployment):`.

        Watches that begin meanwhile show what there is, and stand still as well. Nothing is lost.
        """
        return self._disturbed(Frozen(storage_of(self._state, kind)))

    def delayed_watch(self, kind: Kind, seconds: float) -> Disturbance:
        """Let all events of a kind come later, by the cluster's clock."""
        return self._disturbed(Delayed(storage_of(self._state, kind), seconds, self._state.clock))

    def dropped_watch(self, kind: Kind, *, name: str = "", nth: int = 1, times: int | None = None) -> Disturbance:
        """Let events of a kind never come: from the n-th on, `times` of them; all unless given.

        A watch that begins again from a revision before them gets them, if the disturbance has ended.
        """
        if nth < 1 or (times is not None and times < 1):
            raise ValueError(f"nth and times count from 1, got nth={nth}, times={times}")
        return self._disturbed(Dropped(storage_of(self._state, kind), name, nth, times))

    def reordered_watch(self, kind: Kind, *, window: int = 10) -> Disturbance:
        """Let events of different objects of a kind change places, within windows of as many events.

        Events wait until a window is full, or the disturbance ends. Those of one object keep their order.
        """
        if window < 2:
            raise ValueError(f"a window has two events or more, got {window}")
        return self._disturbed(Reordered(storage_of(self._state, kind), window, self._rng))

    def stale(self, kind: Kind, *, revision: int | None = None) -> Disturbance:
        """Serve reads of a kind as of a revision, by default the present one, as an API server that lags behind does.

        Gets, lists and new watches show what was then; events after it wait for the end. Writes are not affected, and
        meet what is really stored. A client that asks for a newer revision gets the time-out of the real server.
        Raises ValueError for a revision that is not known.
        """
        storage = self._state.storage
        at = storage.revision if revision is None else revision
        if not storage.compacted <= at <= storage.revision:
            raise ValueError(f"revision {at} is not known: they go from {storage.compacted} to {storage.revision}")
        return self._disturbed(Stale(storage_of(self._state, kind), at))

    def _disturbed(self, disturbance: Disturbance) -> Disturbance:
        self._gates.add(disturbance)
        return disturbance

    def end_watches(self, kind: Kind = "") -> int:
        """End the open watches of a kind, all of them by default, as a server does that goes down; how many."""
        return self._state.end_watches(storage_of(self._state, kind) if kind else "")

    # Time

    def compact(self) -> int:
        """Forget all history: watches and lists of earlier revisions get 410. The revision that it begins at."""
        return self._state.storage.compact()

    @property
    def revision(self) -> int:
        """The revision of the last write."""
        return self._state.storage.revision

    def snapshot(self) -> Snapshot:
        """Everything as it is now; takes no time, and no memory until things change."""
        return take(self._state)

    def rewind(self, snapshot: Snapshot) -> int:
        """Put everything back as it was; the revision of the cluster from then on.

        As after the restore of etcd that Kubernetes recommends: objects are exactly what they were, with their uids and
        resourceVersions; revisions go on and are never used twice; history is forgotten. Open watches end with 410, and
        so does a watch from a revision before: clients list again. Time does not go back, nor does chance.
        """
        return rewind(self._state, snapshot)

    def history(self, kind: Kind, name: str, namespace: str = "") -> list[Revision]:
        """The revisions of an object, the oldest first: of those made since the laboratory was first used.

        An object that was made anew under its name goes on in the same list. The last 100,000 writes are known.
        """
        return self._history.of(storage_of(self._state, kind), namespace, name)


def _let_go(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
