"""Sources: what puts keys in a controller's queue.

Handlers of informers run inside the watch loop, once for each event, so they do as little as possible: no awaiting, no
decoding unless a map function needs the object.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, Callable
from typing import Any, TypeVar

from kubewright.api import DecodeError, Object, ResourceInfo
from kubewright.cache import Change, ObjectKey
from kubewright.clock import Clock
from kubewright.controller.registration._mapping import Owns, Reader, Watch, key_of_kind, owner_keys
from kubewright.controller.registration._predicates import Predicate
from kubewright.controller.registration._registration import Trigger
from kubewright.queue import LOW_PRIORITY, ExponentialBackoff
from kubewright.user_code import has_to_pass

__all__ = ["Enqueue", "from_owned", "from_trigger", "from_watched", "passes"]

R = TypeVar("R", bound=Object)

logger = logging.getLogger("kubewright.controller")

Enqueue = Callable[[ObjectKey, str, int, ObjectKey | None, Change[Any] | None], None]
"""Puts a key in the queue: the key, its trigger, its priority, the other object that changed, and the change."""


def priority_of(change: Change[Any]) -> int:
    """Live changes go before what is there anyway."""
    return LOW_PRIORITY if change.initial or change.type == "resync" else 0


def passes(predicate: Predicate | None, change: Change[Any]) -> bool:
    """Whether the change counts. A predicate that fails lets it pass: better once too often than never."""
    if predicate is None:
        return True
    try:
        return predicate(change)
    except BaseException as error:
        if has_to_pass(error):
            raise
        logger.exception("predicate %s failed for %s; the change counts", predicate, change.key)
        return True


def from_owned(owns: Owns[Any], owner: ResourceInfo, enqueue: Enqueue) -> Callable[[Change[Any]], None]:
    """The handler that wakes the owners of changed objects."""
    kind, when, controller_only = owns.kind.__name__, owns.when, owns.controller_only
    triggers = {what: f"{kind} {what}" for what in ("added", "updated", "deleted", "resync")}

    def handle(change: Change[Any]) -> None:
        keys = owner_keys(change, owner, controller_only=controller_only)
        if keys and passes(when, change):
            for key in keys:
                enqueue(key, triggers[change.type], priority_of(change), change.key, change)

    return handle


def from_watched(watch: Watch[Any], reader: Reader, enqueue: Enqueue) -> Callable[[Change[Any]], None]:
    """The handler that wakes what a map function names, for the state before and the one after."""
    kind, when = watch.kind.__name__, watch.when

    def handle(change: Change[Any]) -> None:
        if not passes(when, change):
            return
        keys: dict[ObjectKey, None] = {}
        states = (change.new,) if change.old is change.new else (change.old, change.new)
        for snapshot in states:
            if snapshot is None:
                continue
            try:
                found: Any = watch.map(snapshot.object(), reader)
                if found is None:
                    continue
                if isinstance(found, ObjectKey | str | Object):  # one alone: a key is a tuple, too, but of no keys
                    found = (found,)
                keys.update((watch.key(key), None) for key in found)
            except DecodeError as error:
                if snapshot is change.new:  # what was before was told when it was new
                    logger.warning("a change cannot be mapped to what depends on it: %s", error)
            except BaseException as error:
                if has_to_pass(error):
                    raise
                logger.exception("the map function %s of Watch(%s) failed for %s", watch.map_name, kind, snapshot)
        for key in keys:
            enqueue(key, f"{kind} {change.type}", priority_of(change), change.key, change)

    return handle


async def from_trigger(trigger: Trigger, info: ResourceInfo, enqueue: Enqueue, clock: Clock) -> None:
    """Put in the queue what an external trigger names, until it ends. What a function made is made anew if it fails.

    What cannot be the key of an object of the kind is told, and passed over: those that come after it may be good.
    """
    backoff: ExponentialBackoff[str] = ExponentialBackoff(1.0, 60.0)

    def take(value: object) -> None:
        backoff.forget("")
        try:
            key = key_of_kind(info, value)
        except (TypeError, ValueError) as error:
            logger.error("external trigger %r named no key: %s", trigger, error)
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
    """Let the running loop wait for a queue that another one has waited for, which does not run any more.

    A queue binds itself for good to the first event loop in which somebody has to wait for it. One in a module outlives
    that loop when the operator runs again: in the next test, each of which has a loop of its own.
    """
    bound: asyncio.AbstractEventLoop | None = getattr(queue, "_loop", None)
    if bound is None or bound is asyncio.get_running_loop() or bound.is_running():
        return  # one that runs is in another thread: only `get` can say what is wrong with that
    holder: Any = queue
    holder._loop = None
    for waiting in (holder._getters, holder._putters):
        waiting.clear()  # those of a loop that was closed under them: nobody can wake them
