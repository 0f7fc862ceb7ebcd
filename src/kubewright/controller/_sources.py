"""Sources: handlers that add keys to a controller's queue.

Handlers of informers run inside the watch loop, once for each event, so they do as little as possible. They never wait,
and decode an object only if a map function needs it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, Callable, Iterable
from typing import Any, TypeVar

from kubewright.api import DecodeError, Object, ResourceInfo
from kubewright.cache import Change, ObjectKey
from kubewright.clock import Clock
from kubewright.controller._requested import is_requested
from kubewright.controller.registration._mapping import Owns, Reader, Watch, key_of_kind, owner_keys
from kubewright.controller.registration._predicates import Predicate
from kubewright.controller.registration._registration import Trigger
from kubewright.queue import LOW_PRIORITY, ExponentialBackoff
from kubewright.user_code import has_to_pass

__all__ = ["Enqueue", "from_owned", "from_referenced", "from_trigger", "from_watched", "passes"]

R = TypeVar("R", bound=Object)

logger = logging.getLogger("kubewright.controller")

Enqueue = Callable[[ObjectKey, str, int, ObjectKey | None, Change[Any] | None], None]
"""Adds a key to the queue: the key, its trigger, its priority, the other object that changed, and the change."""


def priority_of(change: Change[Any]) -> int:
    """Returns the priority of a change. Live changes come before the initial list and resyncs."""
    return LOW_PRIORITY if change.initial or change.type == "resync" else 0


def passes(predicate: Predicate | None, change: Change[Any]) -> bool:
    """Returns whether a change passes. It passes if the predicate fails: one reconcile too many is harmless."""
    if predicate is None:
        return True
    try:
        return predicate(change) or is_requested(change)  # a predicate cannot hide the request of a user
    except BaseException as error:
        if has_to_pass(error):
            raise
        logger.exception("predicate %s failed for %s; treating the change as a match", predicate, change.key)
        return True


def from_owned(owns: Owns[Any], owner: ResourceInfo, enqueue: Enqueue) -> Callable[[Change[Any]], None]:
    """Returns the handler that enqueues the owners of changed objects."""
    kind, when, controller_only = owns.kind.__name__, owns.when, owns.controller_only
    triggers = {what: f"{kind} {what}" for what in ("added", "updated", "deleted", "resync")}

    def handle(change: Change[Any]) -> None:
        keys = owner_keys(change, owner, controller_only=controller_only)
        if keys and change.type != "left" and passes(when, change):
            for key in keys:
                enqueue(key, triggers[change.type], priority_of(change), change.key, change)

    return handle


def from_referenced(
    watch: Watch[Any], keys_of: Callable[[str], Iterable[ObjectKey]], enqueue: Enqueue
) -> Callable[[Change[Any]], None]:
    """Returns the handler that enqueues the objects that refer to a changed one. `keys_of` looks up the index."""
    kind, when = watch.kind.__name__, watch.when

    def handle(change: Change[Any]) -> None:
        keys = keys_of(str(change.key))
        if keys and change.type != "left" and passes(when, change):
            for key in keys:
                enqueue(key, f"{kind} {change.type}", priority_of(change), change.key, change)

    return handle


def from_watched(watch: Watch[Any], reader: Reader, enqueue: Enqueue) -> Callable[[Change[Any]], None]:
    """Returns the handler that enqueues the keys of a map function, for the state before and after a change."""
    kind, when, keys_for = watch.kind.__name__, watch.when, watch.map
    assert keys_for is not None

    def handle(change: Change[Any]) -> None:
        if change.type == "left" or not passes(when, change):
            return
        keys: dict[ObjectKey, None] = {}
        states = (change.new,) if change.old is change.new else (change.old, change.new)
        for snapshot in states:
            if snapshot is None:
                continue
            try:
                found: Any = keys_for(snapshot.object(), reader)
                if found is None:
                    continue
                if isinstance(found, ObjectKey | str | Object):  # a single key, which is a tuple, too
                    found = (found,)
                keys.update((watch.key(key), None) for key in found)
            except DecodeError as error:
                if snapshot is change.new:  # the old state was logged when it was new
                    logger.warning("cannot map a change to the keys that depend on it: %s", error)
            except BaseException as error:
                if has_to_pass(error):
                    raise
                logger.exception("the map function %s of Watch(%s) failed for %s", watch.map_name, kind, snapshot)
        for key in keys:
            enqueue(key, f"{kind} {change.type}", priority_of(change), change.key, change)

    return handle


async def from_trigger(trigger: Trigger, info: ResourceInfo, enqueue: Enqueue, clock: Clock) -> None:
    """Enqueues the keys of an external trigger until it ends. A function is called again if its iterator fails.

    Logs and skips values that cannot be keys of the kind.
    """
    backoff: ExponentialBackoff[str] = ExponentialBackoff(1.0, 60.0)

    def take(value: object) -> None:
        backoff.forget("")
        try:
            key = key_of_kind(info, value)
        except (TypeError, ValueError) as error:
            logger.error("external trigger %r returned an invalid key: %s", trigger, error)
        else:
            enqueue(key, "external", 0, None, None)

    while True:
        try:
            if isinstance(trigger, asyncio.Queue):
                release(trigger)
                while True:
                    take(await trigger.get())
            source: AsyncIterable[ObjectKey] = trigger() if callable(trigger) else trigger
            async for key in source:
                take(key)
            return
        except BaseException as error:
            if has_to_pass(error):
                raise
            again = callable(trigger) or isinstance(trigger, asyncio.Queue)
            logger.exception("external trigger %r failed%s", trigger, "; it is started again" if again else "")
            if not again:
                return
            await clock.sleep(backoff.when(""))


def release(queue: asyncio.Queue[Any]) -> None:
    """Unbinds a queue from an event loop that does not run any more.

    A queue binds itself permanently to the first event loop that waits for it. A queue in a module outlives that loop
    if the operator runs again, as in the next test, which has its own loop. asyncio has no public way to unbind a
    queue, and without waiting on the queue the trigger would have to poll it. So this sets its private attributes.
    """
    bound: asyncio.AbstractEventLoop | None = getattr(queue, "_loop", None)
    if bound is None or bound is asyncio.get_running_loop() or bound.is_running():
        return  # a running loop is in another thread: `get` raises the right error
    holder: Any = queue
    holder._loop = None
    for waiting in (holder._getters, holder._putters):
        waiting.clear()  # they belong to a closed loop, so nothing can resume them
