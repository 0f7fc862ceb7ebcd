"""The trace of the current work, in the format of W3C Trace Context.

Requests within a trace send it to the server in a `traceparent` header. The server's own spans and its audit log
contain it too, so that a trace collector can join them.
"""

from __future__ import annotations

import random
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from functools import cached_property

import msgspec

__all__ = ["Trace", "current_trace"]


class Trace:
    """One trace, and one span in it. The ids are generated on first use."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    @cached_property
    def trace_id(self) -> str:
        """32 hexadecimal digits."""
        return f"{self._rng.getrandbits(128) or 1:032x}"  # all zeros are forbidden

    @cached_property
    def span_id(self) -> str:
        """16 hexadecimal digits."""
        return f"{self._rng.getrandbits(64) or 1:016x}"

    @property
    def traceparent(self) -> str:
        """The value of the header."""
        return f"00-{self.trace_id}-{self.span_id}-01"

    def current(self) -> AbstractContextManager[None]:
        """Makes all requests in the block belong to this trace, also in tasks and threads that start there."""
        return _Current(self)

    def __str__(self) -> str:
        return self.trace_id


_current: ContextVar[Trace | None] = ContextVar("kubewright_trace", default=None)


class _Current(msgspec.Struct, gc=False):
    """A class and not a generator: there is one for each reconcile, and it takes a third of the time."""

    trace: Trace
    token: Token[Trace | None] | None = None

    def __enter__(self) -> None:
        self.token = _current.set(self.trace)

    def __exit__(self, *_: object) -> None:
        assert self.token is not None
        _current.reset(self.token)


def current_trace() -> Trace | None:
    """Returns the current trace."""
    return _current.get()
