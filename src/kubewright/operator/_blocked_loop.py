"""The watchdog of a running operator: reports handlers that block its event loop."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from types import FrameType
from typing import Final

from kubewright.controller import handler_in
from kubewright.durations import format_duration
from kubewright.watchdog import LoopWatchdog

__all__ = ["watch_event_loop"]

_log: Final = logging.getLogger("kubewright.operator")
_THRESHOLD_SECONDS: Final = 2.0


def watch_event_loop(stack: AsyncExitStack, *, threshold: float = _THRESHOLD_SECONDS) -> LoopWatchdog:
    """Starts a watchdog of the running event loop, which stops with the stack."""

    def describe(frame: FrameType) -> str:
        handler = handler_in(frame)
        return (
            f"{handler or 'a call'} has blocked the event loop for more than {format_duration(threshold)}, so no other"
            " reconcile, no watch and no request runs. Await an async function instead, or run the call in a thread"
            " (asyncio.to_thread), or make the handler a plain def, which runs in a thread"
        )

    watchdog = LoopWatchdog(_log, describe, threshold=threshold)
    watchdog.start()
    stack.callback(watchdog.stop)
    return watchdog
