"""The reconcile contract: read this file first.

A reconciler is a function that makes the world match one object. It is given the object as the cache has it, and a
context to read and write with. It is not told what happened: it looks at what is wanted and what is there, and does
what is missing. So it does not matter how many changes led to one call, or that one was missed.

    @operator.reconciles(Foo, owns=[apps.Deployment])
    async def sync(foo: Foo, ctx: Context[Foo]) -> Result | None: ...

When it is called: after every change of the object (or of one that it owns, or watches) that passes the predicates, at
the start, at every resync, and when it asked for it. Events about its own writes of the status do not call it again: a
state machine in the status returns `Result(requeue=True)`. A key is never worked on twice at once; changes that arrive
while it runs cause one more run.

How it ends decides what happens next:

| it …                                | then the key …                                                                 |
|-------------------------------------|--------------------------------------------------------------------------------|
| returns `None`, or `Result()`       | is done: its backoff is forgotten, the next change brings it back              |
| returns `Result(requeue=True)`      | comes back after its backoff, which grows; this is not counted as an error     |
| returns `Result(requeue_after=30)`  | is done, and comes back after 30 seconds if nothing brings it back earlier     |
| returns `Result(requeue_after=0)`   | comes back after its backoff, as with `requeue=True`                           |
| raises `TerminalError`              | is done; the error is logged and counted, and only a change brings it back     |
| raises anything else                | comes back after its backoff; the error is logged with its traceback           |

A `Conflict` of the API server is an ordinary end too: somebody changed the object first, so the key comes back after
its backoff, with one line in the log; and so is its refusal to make something in a namespace that is going. An object
that does not fit its model is a terminal error of its own key alone.

However it ends, the key also comes back when an object may be put back that another program kept undoing (see
`Context.apply`); that changes neither its backoff nor what is counted.

What is called with what:

- The *object form* takes the object. It is called for objects that exist and are not being deleted: a reconciler that
  restored the children of an object in deletion would keep it from ever going away. What is to happen at the end
  belongs in `@operator.finalizes`, which is called until it succeeds, or `@operator.deleted`, which hears of it.
- The *key form*, whose first parameter is annotated with `ObjectKey`, takes the namespace and name alone. It is called
  for objects in deletion and for absent ones too, and reads what it needs itself.

Both are `async def`, with a `Context`, or plain `def`, run in a thread with a `BlockingContext`; or the `reconcile`
method of a class.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Final

import msgspec

from kubewright.structs import ExplainingStructMeta

__all__ = ["NOTHING", "NotDeclared", "ReconcileTimeout", "Result", "TerminalError"]


class Result(msgspec.Struct, frozen=True, kw_only=True, metaclass=ExplainingStructMeta):
    """What a reconciler asks for when it ends well. `Result()` is the same as `None`: nothing."""

    requeue: bool = False
    """Come back after the key's backoff, which grows from time to time."""
    requeue_after: float | timedelta | None = None
    """Come back after this long (seconds, if a number). The backoff is forgotten. Wins over `requeue`.

    0 is the same as `requeue=True`: without any pause the key would do nothing else.
    """

    def __post_init__(self) -> None:
        requeue: object = self.requeue
        if not isinstance(requeue, bool):
            raise TypeError(f"requeue is True or False, not {requeue!r}; to come back after a time, requeue_after=30")
        after = self.requeue_after
        if after is None:
            return
        if isinstance(after, bool) or not isinstance(after, int | float | timedelta):
            raise TypeError(f"requeue_after is a number of seconds or a timedelta, not {after!r}")
        if math.isnan(self.delay) or self.delay < 0:
            raise ValueError(f"requeue_after must not be negative, as {after!r} is")

    @property
    def delay(self) -> float:
        """`requeue_after` in seconds; 0 when it was not given."""
        after = self.requeue_after
        return after.total_seconds() if isinstance(after, timedelta) else float(after or 0)


class TerminalError(Exception):
    """Trying again would not help: log and count it, and wait for the object to change."""


class NotDeclared(TerminalError):
    """A call was not sent because the operator did not declare it. A retry would fail in the same way."""


class ReconcileTimeout(TimeoutError):
    """The reconcile took longer than its controller's `timeout`. The key comes back after its backoff.

    Raised inside an async reconciler at the point where it waits. A thread cannot be interrupted: a plain one meets
    it at its next call of the context.
    """


NOTHING: Final = Result()
"""The result that asks for nothing."""
