"""`shown_logs`: the warnings of the cluster and the console, which run in the process of `dev`, become messages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kubewright.development.messages import Logged

__all__ = ["shown_logs"]


class _Handler(logging.Handler):
    def __init__(self, notify: Callable[[Logged], None]) -> None:
        super().__init__(logging.WARNING)
        self._notify = notify
        self._loop = asyncio.get_running_loop()

    def emit(self, record: logging.LogRecord) -> None:
        """Passes the record on in the event loop, from any thread."""
        try:
            trace = logging.Formatter().formatException(record.exc_info) if record.exc_info else ""
            level, text = record.levelname.lower(), record.getMessage()
            message = Logged(level=level, logger=record.name, message=text, traceback=trace)
            self._loop.call_soon_threadsafe(self._notify, message)
        except Exception:
            self.handleError(record)


@contextmanager
def shown_logs(notify: Callable[[Logged], None]) -> Iterator[None]:
    """Reports the warnings and errors of all loggers during the block, instead of writing them to standard error."""
    handler, root = _Handler(notify), logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
