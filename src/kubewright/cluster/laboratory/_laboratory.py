"""`Laboratory`: the faults and disturbances of a cluster."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from kubewright.cluster.dispatch._dispatcher import Dispatcher
from kubewright.cluster.laboratory._faults import (
    Decision,
    Failing,
    Fault,
    Outcome,
    check_failure,
    check_hook,
    check_write_hook,
    is_create_conflict,
    refusal,
)
from kubewright.cluster.laboratory._held import Held
from kubewright.cluster.laboratory._history import Revision, revision_of
from kubewright.cluster.laboratory._journal import Journal, JournalEntry
from kubewright.cluster.laboratory._pace import Latency, Pace, WriteBudget
from kubewright.cluster.laboratory._programs import Programs
from kubewright.cluster.laboratory._requests import Incoming, Matches, Served, matcher
from kubewright.cluster.laboratory._resources import Kind, known_resource_of, storage_of
from kubewright.cluster.laboratory._scope import Scope
from kubewright.cluster.laboratory._snapshots import Snapshot, rewind, take
from kubewright.cluster.machinery._authors import AUTHOR, CONTROLLER_MANAGER, Author
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import Failure, PlainFailure
from kubewright.cluster.machinery._responses import ApiResponse, NoResponse
from kubewright.durations import Duration, check_duration
from kubewright.programs import calling_program

__all__ = ["Laboratory"]

Serve: TypeAlias = Callable[[Call], Awaitable[ApiResponse]]
_IN_HOOK: Final[ContextVar[bool]] = ContextVar("kubewright-laboratory-hook", default=False)


class Laboratory(Programs):
    """Fault injection for a cluster; `cluster.lab` creates it on first use.

    `writes` counts the write requests since then; `journal` has them all, with the writes of the cluster itself.
    """

    def __init__(self, dispatcher: Dispatcher, rng: random.Random) -> None:
        super().__init__(dispatcher.state, rng)
        self._dispatcher = dispatcher
        self._faults: list[Fault] = []
        self._after: list[Fault] = []
        self._journal = Journal(self._state)
        self._pace = Pace(self._state.clock)
        self._requests = 0
        self._silent: set[asyncio.Future[None]] = set()
        self.writes = 0
        dispatcher.interceptor = self._around

    def close(self) -> None:
        """Ends all faults and disturbances; clients that wait for a response lose their connection."""
        self._dispatcher.interceptor = None
        self._state.gate = None
        self._faults.clear()
        self._after.clear()
        self._pace.clear()
        self._state.delays.clear()
        self._gates.end()
        self._journal.close()
        for waiting in self._silent:
            _release(waiting)

    # Requests

    def fail(
        self,
        *,
        verb: str = "write",
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
        """Makes the n-th matching request from now on fail, and the following ones: `times` in all, None for all.

        Omitted arguments match everything, with one exception: without a kind, `write` does not match writes of
        Events, whose number depends on the time. `patch` includes server-side apply, `apply` matches only that.

        Args:
            verb: create, update, patch, apply, delete, deletecollection, get, list or watch; `write` (the default) for
                all writes except dry runs.
            kind: a class, or a resource name such as `deployments.apps`.
            namespace: the namespace of the objects.
            name: the name of the object; for a create, the one in its body.
            user: the name of the user.
            subresource: `status` or `scale`; "" for the object itself. Default: any.
            nth: the first match that fails, counted from 1.
            times: how many matches fail.
            status: the response: a status from 400 to 599, such as 409, 429 or 503; `lost` for a connection that
                ends without a response; `timeout` for no response until the client times out. Creates do not fail with
                409 unless `committed`: only an existing object conflicts.
            committed: whether the request takes effect although it fails.
            retry_after: the seconds of the Retry-After header. Default: 1 for 429, none otherwise.
        """
        if nth < 1 or (times is not None and times < 1):
            raise ValueError(f"nth and times must be at least 1, got nth={nth}, times={times}")
        matches = matcher(
            verb=verb,
            resource=known_resource_of(self._state, kind) if kind else "",
            namespace=namespace,
            name=name,
            subresource=subresource,
            user=user,
        )
        failing = Failing(status, committed, retry_after)
        check_failure(failing, verb)
        fault: Fault

        def decide(incoming: Incoming) -> Failing | None:
            return failing if fault.seen >= nth and (times is None or fault.seen < nth + times) else None

        fault = self._add_fault(lambda one: matches(one) and not is_create_conflict(failing, one.verb), decide)
        return fault

    def on_request(
        self,
        hook: Decision,
        *,
        when: Literal["before", "after"] = "before",
        user: str = "",
        client: str = "",
        verb: str = "",
        kind: Kind = "",
        namespace: str = "",
        name: str = "",
        subresource: str | None = None,
        nth: int | None = None,
    ) -> Fault:
        """Calls a function, plain or async, before or after each matching request: "before the n-th write, do X".

        `before` passes the `Incoming` request. The hook acts, and returns None to serve the request or a `Failing`.
        `after` passes the `Served` request after its writes and before its response is sent; a `Failing` replaces that
        response. An async hook may send requests; these are neither passed to hooks nor failed. It may kill the
        program that sent the request (`Running.kill`): the request then has no effect, or no response.

        If a hook raises, the request fails with a 500, and the exception is in `error` of the returned object.

        Args:
            hook: a function with one argument. Raises TypeError for any other.
            when: `before` the request is served, or `after` it.
            user: the name of the user.
            client: a part of the User-Agent header.
            verb: as in `fail`; `write` for all writes except dry runs and, without a kind, except those of Events.
                Default: every request.
            kind: a class, or a resource name such as `deployments.apps`.
            namespace: the namespace of the objects.
            name: the name of the object; for a create, the one that it gets.
            subresource: `status` or `scale`; "" for the object itself. Default: any.
            nth: calls the hook only for this match, counted from 1. Default: for each.
        """
        check_hook(hook, when)
        if nth is not None and nth < 1:
            raise ValueError(f"nth must be at least 1, got {nth}")
        matches = matcher(
            verb=verb,
            resource=known_resource_of(self._state, kind) if kind else "",
            namespace=namespace,
            name=name,
            subresource=subresource,
            user=user,
            client=client,
        )
        made: Fault

        def only_nth(request: Any) -> Failing | Awaitable[Failing | None] | None:
            return hook(request) if made.seen == nth else None

        made = self._add_fault(matches, hook if nth is None else only_nth, when)
        return made

    def latency(
        self, seconds: Duration, *, jitter: Duration = 0.0, user: str = "", client: str = "", verb: str = ""
    ) -> Latency:
        """Makes each matching request take time on the cluster's clock before it is served.

        Without latency, a loop of writes takes no virtual time. `jitter` adds up to that time, at random by the
        cluster's seed. The last latency that matches a request applies. Default: the requests of all clients except
        the cluster's own controllers (`system:kube-controller-manager`).

        While requests wait, no virtual time passes by itself: start and stop an operator with the clock, such as
        `await clock.run(running.__aenter__())`.
        """
        made = Latency(
            self._all_but_own(user, client, verb),
            check_duration("seconds", seconds),
            check_duration("jitter", jitter),
            self._rng,
        )
        self._pace.add_latency(made)
        return made

    def limit_writes(self, limit: int, *, user: str = "", client: str = "") -> WriteBudget:
        """Ends a run that does not stop writing: allows that many write requests from now on.

        Each further write is rejected with 429. On a `VirtualClock`, the method that moves time then raises
        `WriteBudgetExceeded` with the most frequent writes; `check` of the returned budget raises it, too. Dry runs and
        Events do not count. Default: the writes of all clients except the cluster's own controllers.
        """
        if limit < 1:
            raise ValueError(f"limit must be at least 1, got {limit}")
        budget = WriteBudget(self._all_but_own(user, client, "write"), limit, self._state.clock)
        self._pace.add_budget(budget)
        return budget

    def _all_but_own(self, user: str, client: str, verb: str) -> Matches:
        matches = matcher(verb=verb, resource="", user=user, client=client)
        return lambda incoming: matches(incoming) and (bool(user) or incoming.user != CONTROLLER_MANAGER)

    def delay_garbage_collection(self, seconds: Duration | None = None) -> Scope:
        """Delays the garbage collector: dependents are deleted, and foreground deletions end, that much later.

        The delay begins with the first object to collect. At its end, all waiting objects are collected together.
        Default: until the scope ends.
        """
        return Held(self._state, "garbage-collector", seconds)

    def delay_namespace_deletion(self, seconds: Duration | None = None) -> Scope:
        """Delays the deletion of the objects in each namespace that is deleted. Default: until the scope ends."""
        return Held(self._state, "namespaces", seconds)

    def on_write(self, hook: Callable[[JournalEntry], object]) -> Scope:
        """Calls a plain function with each entry of the journal that is a write, also of the cluster itself.

        The write is committed then, and clients have not seen it yet. The function must not raise, block or write:
        an exception is logged.
        """
        check_write_hook(hook)
        return self._journal.call(hook)

    def _add_fault(self, matches: Matches, decide: Decision, when: str = "before") -> Fault:
        faults = self._faults if when == "before" else self._after
        fault = Fault(matches, decide, lambda ended: faults.remove(ended) if ended in faults else None)
        faults.append(fault)
        return fault

    async def _around(self, call: Call, serve: Serve) -> ApiResponse:
        self._requests += 1
        incoming = Incoming.of(call, self._state, self._requests)
        self.writes += incoming.writes
        author = Author(call.user.name, call, incoming.number, incoming.verb)
        token = AUTHOR.set(author)
        self._journal.begin(incoming.number)
        status = 0
        try:
            if _IN_HOOK.get():
                response = await serve(call)
            else:
                response = await self._disturbed_response(call, incoming, serve)
            status = response.status
            return response
        except (Failure, PlainFailure) as failure:
            status = failure.code
            raise
        except NoResponse:
            raise
        except Exception:
            status = 500
            raise
        finally:
            author.ended = True
            AUTHOR.reset(token)
            self._journal.answered(author, incoming.name, status)

    async def _disturbed_response(self, call: Call, incoming: Incoming, serve: Serve) -> ApiResponse:
        await self._pace.passed(incoming)
        failing = await self._ask(self._faults, incoming)
        if failing is not None and not failing.committed:
            raise await self._failure(call, incoming, failing)
        response: ApiResponse | None = None
        refused: Failure | None = None
        try:
            response = await serve(call)
        except Failure as failure:
            refused = failure
        status = response.status if response is not None else refused.code if refused is not None else 0
        if self._after:
            served = Served(request=incoming, status=status, entries=self._journal.written(incoming.number))
            replaced = await self._ask(self._after, incoming, served)
            failing = failing if replaced is None else replaced
        if refused is not None:
            raise refused
        assert response is not None
        if failing is None:
            return response
        response.close()
        raise await self._failure(call, incoming, failing)

    async def _ask(self, faults: list[Fault], incoming: Incoming, served: Served | None = None) -> Failing | None:
        """Calls all matching hooks. Returns the first failure."""
        if not faults:
            return None
        token = _IN_HOOK.set(True)
        try:
            struck = [await fault.failure_of(incoming, served) for fault in list(faults)]
        finally:
            _IN_HOOK.reset(token)
        caller = calling_program()
        if caller is not None and caller.killed:  # by a hook: the request is neither served nor answered
            raise asyncio.CancelledError
        return next((failing for failing in struck if failing is not None), None)

    async def _failure(self, call: Call, incoming: Incoming, failing: Failing) -> Exception:
        if failing.status == "timeout":
            await self._never(call)
        if isinstance(failing.status, str):
            return NoResponse(timeout=failing.status == "timeout")
        return refusal(call, incoming, failing.status, failing.retry_after)

    async def _never(self, call: Call) -> None:
        """Waits until the client disconnects or times out, or the cluster stops."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._silent.add(waiting)
        seconds = call.request.timeout  # known for in-process clients only; others disconnect
        timer = None
        if seconds is not None:
            timer = self._state.clock.call_later(seconds, partial(_release, waiting))
        try:
            await waiting
        finally:
            self._silent.discard(waiting)
            if timer is not None:
                timer.cancel()

    # Time

    def compact(self) -> int:
        """Drops all history: watches and lists of earlier revisions get 410. Returns the oldest available revision."""
        return self._state.storage.compact()

    @property
    def revision(self) -> int:
        """Returns the revision of the last write."""
        return self._state.storage.revision

    def snapshot(self) -> Snapshot:
        """Returns a snapshot of all objects. It takes no time, and no memory until objects change."""
        return take(self._state)

    def rewind(self, snapshot: Snapshot) -> int:
        """Restores all objects. Returns the new revision of the cluster.

        The effect is that of the etcd restore that Kubernetes recommends: objects are exactly as they were, with their
        uids and resourceVersions; revisions continue and are never reused; the history is dropped. Open watches, and
        watches from earlier revisions, end with 410: clients list again. The clock and the random generator are not
        restored.
        """
        return rewind(self._state, snapshot)

    @property
    def journal(self) -> list[JournalEntry]:
        """Every write and every request since the first use of the laboratory, in order; see `JournalEntry`.

        Writes of the cluster's own controllers are included. The journal keeps the last 100,000 entries, and 256 MiB of
        objects.
        """
        return self._journal.entries

    def journal_since(self, number: int) -> list[JournalEntry]:
        """Returns the entries of the journal after the one with this number."""
        return self._journal.since(number)

    def history(self, kind: Kind, name: str, namespace: str = "") -> list[Revision]:
        """Returns the revisions of an object since the laboratory was first used, the oldest first.

        The list includes earlier objects of the same name. It is part of the journal, with the same limits.
        """
        return [revision_of(entry) for entry in self._journal.of(storage_of(self._state, kind), namespace, name)]


def _release(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
