"""The reconcile contract: read this file first.

A reconciler is a function that makes the world match one object. It gets the object from the cache, and a context to
read and write with. It does not get the event that triggered it: it compares the wanted state with the current one, and
does what is missing. So it does not matter how many changes led to one call, or that one of them was missed.

    @operator.reconciles(Foo, owns=[apps.Deployment])
    async def sync(foo: Foo, ctx: Context[Foo]) -> Result | None: ...

The reconciler is called:

- at the start, and at every resync;
- after every change of the object, or of an object that it owns or watches, if the change passes the predicates;
- when its last result asked for it.

Events about its own writes of the status do not trigger it: a state machine in the status returns
`Result(requeue=True)`. A key never runs twice at the same time. Changes that arrive while it runs cause one more run.

The result decides what happens next:

| the reconciler …                    | then the key …                                                                 |
|-------------------------------------|--------------------------------------------------------------------------------|
| returns `None`, or `Result()`       | is done: its backoff is reset, and the next change triggers it again           |
| returns `Result(requeue=True)`      | is requeued after its backoff, which grows; this is not counted as an error    |
| returns `Result(requeue_after="5m")`| is done, and requeued after 5 minutes unless a change triggers it earlier      |
| returns `Result(requeue_after=0)`   | is requeued after its backoff, as with `requeue=True`                          |
| raises `RetryLater(…, after="60s")` | is requeued after that time; one line in the log, not counted as an error      |
| raises `TerminalError`              | is done: the error is logged and counted, and only a change triggers it again  |
| raises any other exception          | is retried after its backoff; the error is logged with its traceback           |

A `Conflict` of the API server is common: another client changed the object first. The key is retried after its backoff,
with one line in the log. The same applies to a create in a namespace that is being deleted. An object that does not fit
its model is a terminal error for its own key only.

The first failure of a state of the object, and each change of the reason, is also a Warning event on it
(`_failure_events`).

In addition, the key is requeued when the pause of a write conflict ends (see `Context.apply`). That changes neither its
backoff nor the counted results.

Two forms of reconcilers:

- The *object form* takes the object. It is called for objects that exist and are not being deleted: a reconciler that
  restores the children of an object in deletion would block the deletion. Cleanup belongs in `@operator.finalizes`,
  which is called until it succeeds. `@operator.deleted` is called after the deletion.
- The *key form*, whose first parameter is annotated with `ObjectKey`, takes only the namespace and name. It is also
  called for objects in deletion and for absent ones, and reads what it needs itself.

Both are either `async def` with a `Context`, or plain `def` in a thread with a `BlockingContext`; or the `reconcile`
method of a class.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kubewright.durations import Duration, check_duration, parse_duration
from kubewright.structs import ExplainingStructMeta

__all__ = ["NOTHING", "NotDeclared", "ReconcileTimeout", "Result", "RetryLater", "TerminalError"]


class Result(msgspec.Struct, frozen=True, kw_only=True, metaclass=ExplainingStructMeta):
    """The request of a reconciler that succeeded. `Result()` is the same as `None`: no request."""

    requeue: bool = False
    """Requeue the key after its backoff, which grows each time."""
    requeue_after: Duration | None = None
    """Requeue the key after this time: seconds, a timedelta, or "5m". Resets the backoff. Overrides `requeue`.

    0 is the same as `requeue=True`: without a pause, the key would run continuously.
    """
    priority: int | None = None
    """The priority of the requeued key: higher goes first, changes have 0. Default: the one that it ran with."""

    def __post_init__(self) -> None:
        requeue: object = self.requeue
        if not isinstance(requeue, bool):
            raise TypeError(f"requeue must be True or False, not {requeue!r}; for a delay, use requeue_after=30")
        if self.requeue_after is not None:
            check_duration("requeue_after", self.requeue_after)
        if self.priority is None:
            return
        if isinstance(self.priority, bool) or not isinstance(self.priority, int):
            raise TypeError(f"priority must be a whole number, such as 10, not {self.priority!r}")
        if not requeue and self.requeue_after is None:
            raise ValueError("priority requires a requeue: add requeue=True or requeue_after=")

    @property
    def delay(self) -> float:
        """`requeue_after` in seconds. Default: 0."""
        return 0.0 if self.requeue_after is None else parse_duration(self.requeue_after)


class TerminalError(Exception):
    """A retry would not help: the error is logged and counted, and the key waits for the object to change."""


class RetryLater(Exception):
    """The reconcile cannot continue now: `raise RetryLater("the bucket is not reachable", after="60s")`.

    The key is requeued after that time, or earlier if a change triggers it. The log has one line without a traceback,
    and the reconcile is counted as a requeue, not as an error.

    Args:
        message: the reason, for the log, `kubewright why` and the event.
        after: the time until the retry: seconds, a timedelta, or a string. Default: the backoff of the key.
        event: record a Warning event `RetryLater` with the message on the object. Repeated ones are counted in one
            event.
    """

    def __init__(self, message: str, *, after: Duration | None = None, event: bool = False) -> None:
        super().__init__(message)
        self.after = None if after is None else check_duration("after", after)
        """Seconds until the retry; None for the backoff of the key."""
        self.event = event


class NotDeclared(TerminalError):
    """A request was not sent because the operator does not declare it. A retry would fail in the same way."""


class ReconcileTimeout(TimeoutError):
    """The reconcile took longer than its controller's `timeout`. The key is retried after its backoff.

    Raised inside an async reconciler at the point where it waits. A thread cannot be interrupted: a plain reconciler
    gets it from its next call of the context.
    """


NOTHING: Final = Result()
"""The result that asks for nothing."""
