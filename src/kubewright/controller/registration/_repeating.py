"""Timers and daemons: handlers that belong to each object for as long as it exists.

Both are controllers. A timer's key is requeued after its interval, a daemon's reconcile lasts as long as the object. So
backoff, leader election, metrics and the history of reconciles apply to them as to any other controller.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from msgspec.structs import replace

from kubewright.cache import Change
from kubewright.controller._reconcile import NOTHING, Result
from kubewright.controller.registration._handlers import Handler
from kubewright.controller.registration._predicates import Predicate

__all__ = ["NEW_OBJECTS", "timer_handler"]


def _is_new(change: Change[Any]) -> bool:
    if change.type == "added":
        return True
    return change.type == "updated" and change.old is not None and change.new is not None and _is_recreated(change)


def _is_recreated(change: Change[Any]) -> bool:
    assert change.old is not None
    assert change.new is not None
    return change.old.uid != change.new.uid


NEW_OBJECTS: Final = Predicate(_is_new, "new objects")
"""Passes objects that are new, and those that were recreated under the same name."""


def timer_handler(handler: Handler, interval: float) -> Handler:
    """Returns the handler with a default result: requeue after the interval. The handler's own result overrides it."""
    function, again = handler.function, Result(requeue_after=interval)

    if handler.blocking:

        @functools.wraps(function)
        def call(obj: Any, ctx: Any) -> Any:
            return _next(function(obj, ctx), again)

        return replace(handler, function=call)

    @functools.wraps(function)
    async def call_async(obj: Any, ctx: Any) -> Any:
        return _next(await function(obj, ctx), again)

    return replace(handler, function=call_async)


def _next(result: Any, again: Result) -> Any:
    return again if result is None or result == NOTHING else result
