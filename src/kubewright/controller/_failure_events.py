"""`FailureEvents`: selects the failures that become events on the object, and writes their messages.

More people may read events than the operator's log, and an exception's message may contain the value of a Secret. So an
event contains only messages that were written for users: those of `TerminalError`, and of Kubewright's own errors. Of
an API error it has the reason and the fields, of any other exception the type and the place in the program.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

from kubewright.cache import ObjectKey, Snapshot
from kubewright.causes import only_cause
from kubewright.client import ApiError
from kubewright.controller._reconcile import ReconcileTimeout, RetryLater, TerminalError
from kubewright.controller.apply import ApplyError
from kubewright.counts import counted
from kubewright.lru import LRUMemory
from kubewright.observe import Reconcile
from kubewright.redaction import as_text, one_line, redact

__all__ = ["FailureEvents", "failure_message"]

_KEYS: Final = 10_000
"""Keys whose last event is remembered. The one that failed least recently is dropped first."""
_FIELDS: Final = 3
_LIBRARY: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class FailureEvents:
    """Records the first failure of each state of an object, and each change of the reason.

    `snapshot` returns the cached object; None if it is absent, and then nothing is recorded. `record` records a Warning
    event about the object: reason, message and action.
    """

    def __init__(
        self,
        snapshot: Callable[[ObjectKey], Snapshot[Any] | None],
        record: Callable[[Reconcile, str, str, str], None],
    ) -> None:
        self._snapshot = snapshot
        self._record = record
        self._last: LRUMemory[ObjectKey, tuple[int, str]] = LRUMemory(_KEYS)

    def failed(self, run: Reconcile, error: BaseException) -> None:
        """Records an event, unless the last event about this state of the object said the same."""
        if isinstance(error, ApiError) and error.code == 0:
            return  # the server is unreachable, for events too
        snapshot = self._snapshot(run.key)
        if snapshot is None:
            return
        state = (snapshot.generation or snapshot.resource_version, failure_message(error))
        if self._last.peek(run.key) != state:
            self._last.put(run.key, state)
            self._record(run, "ReconcileFailed", state[1], "Reconcile")

    def forget(self, key: ObjectKey) -> None:
        """Drops a key that does not fail any more, or is gone."""
        self._last.discard(key)


def failure_message(error: BaseException) -> str:
    """Returns the message of an event about a failure."""
    cause = only_cause(error)
    if isinstance(cause, TerminalError | RetryLater | ReconcileTimeout | ApplyError):
        return redact(one_line(as_text(cause)))
    if isinstance(cause, BaseExceptionGroup):
        kinds = ", ".join(dict.fromkeys(type(one).__name__ for one in cause.exceptions))
        return (
            f"{counted(len(cause.exceptions), 'error')} ({kinds}){_place(error.__traceback__)}. See the operator's log"
        )
    if isinstance(cause, ApiError):
        fields = list(dict.fromkeys(one.field for one in cause.causes if one.field))
        shown = f" at {', '.join(fields[:_FIELDS])}{' and others' if len(fields) > _FIELDS else ''}" if fields else ""
        answer = cause.reason or f"HTTP status {cause.code}"
        return redact(one_line(f"{cause.request or 'A request'}: {answer}{shown}. See the operator's log"))
    return f"{type(cause).__name__}{_place(cause.__traceback__)}. See the operator's log"


def _place(traceback: TracebackType | None) -> str:
    """Returns the innermost place in the user's program: ` in sync (site.py:45)`."""
    place = ""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not code.co_filename.startswith(_LIBRARY) and "site-packages" not in code.co_filename:
            place = f" in {code.co_name} ({os.path.basename(code.co_filename)}:{traceback.tb_lineno})"
        traceback = traceback.tb_next
    return place
