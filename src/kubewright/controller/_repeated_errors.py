"""`RepeatedErrors`: the last error of each key, so that the log has its traceback only once.

A failing key is retried again and again, mostly with the same error. A thousand tracebacks say no more than one, and
hide the rest of the log. Two errors are the same if they have the same type and were raised at the same place.
"""

from __future__ import annotations

from types import TracebackType
from typing import Final, NamedTuple, TypeAlias

from kubewright.cache import ObjectKey
from kubewright.lru import LRUMemory

__all__ = ["RepeatedError", "RepeatedErrors"]

_KEYS: Final = 10_000
"""Keys whose error is remembered. The one that failed least recently is dropped first."""

_Identity: TypeAlias = tuple[type[BaseException], int]


class RepeatedError(NamedTuple):
    """An error whose traceback was logged before. Log records have it as `repeated`."""

    error: str
    times: int
    """How often it was repeated since its traceback was logged."""


class RepeatedErrors:
    """The last error of each failing key, in bounded memory."""

    def __init__(self, keys: int = _KEYS) -> None:
        self.failing: LRUMemory[ObjectKey, tuple[_Identity, int]] = LRUMemory(keys)
        """The last error of each key, and how often it was repeated."""

    def __len__(self) -> int:
        """Returns the number of failing keys."""
        return len(self.failing)

    def again(self, key: ObjectKey, error: BaseException) -> int:
        """Records an error, and returns how often it was repeated: 0 for a new one."""
        identity = (type(error), _place(error.__traceback__))
        before, times = self.failing.peek(key) or (None, 0)
        times = times + 1 if identity == before else 0
        self.failing.put(key, (identity, times))
        return times

    def forget(self, key: ObjectKey) -> None:
        """Drops a key that no longer fails, or whose object is gone."""
        self.failing.discard(key)


def _place(traceback: TracebackType | None) -> int:
    """Returns a hash of the lines of code in an error's traceback."""
    lines = []
    while traceback is not None:
        lines.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno))
        traceback = traceback.tb_next
    return hash(tuple(lines))
