"""`Processing`: the block in which a worker has a key."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from types import TracebackType
from typing import Generic, TypeVar

__all__ = ["Processing"]

K = TypeVar("K", bound=Hashable)


class Processing(Generic[K]):
    """Calls `done(key)` at the end of its block. See `WorkQueue.processing`."""

    __slots__ = ("_done", "_key")

    def __init__(self, done: Callable[[K], None], key: K) -> None:
        self._done = done
        self._key = key

    def __enter__(self) -> K:
        return self._key

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._done(self._key)
