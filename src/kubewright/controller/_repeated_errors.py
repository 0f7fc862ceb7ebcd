"""`RepeatedErrors`: with which error each object failed last, so that the log has the traceback of it once.

A key that fails is tried again and again, mostly with the same outcome: a thousand tracebacks say no more than one, and
hide what else is in the log. Errors are the same when they are of the same type and were raised at the same place.
"""

from __future__ import annotations

from types import TracebackType
from typing import Final, NamedTuple, TypeAlias

from kubewright.cache import ObjectKey

__all__ = ["RepeatedError", "RepeatedErrors"]

_OBJECTS: Final = 10_000
"""Of how many objects the error is remembered; the one that failed least recently is forgotten first."""

_Sameness: TypeAlias = tuple[type[BaseException], int]


class RepeatedError(NamedTuple):
    """In a record of the log, as `repeated`: an error whose traceback was logged before."""

    error: str
    times: int
    """Since that traceback."""


class RepeatedErrors:
    """The last error of each object that fails, in bounded memory. True while there is one."""

    def __init__(self, objects: int = _OBJECTS) -> None:
        self._objects = objects
        self._last: dict[ObjectKey, tuple[_Sameness, int]] = {}

    def __len__(self) -> int:
        """How many objects fail."""
        return len(self._last)

    def again(self, key: ObjectKey, error: BaseException) -> int:
        """Note an error, and say how often it came after the first time: 0 for one that is new."""
        same = (type(error), _place(error.__traceback__))
        before, times = self._last.pop(key, (None, 0))  # and put at the end: the dict is in the order of use
        times = times + 1 if same == before else 0
        self._last[key] = (same, times)
        if len(self._last) > self._objects:
            del self._last[next(iter(self._last))]
        return times

    def forget(self, key: ObjectKey) -> None:
        """It does not fail any more, or is gone."""
        self._last.pop(key, None)


def _place(traceback: TracebackType | None) -> int:
    """A number that stands for the lines of code that an error came through."""
    lines = []
    while traceback is not None:
        lines.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno))
        traceback = traceback.tb_next
    return hash(tuple(lines))
