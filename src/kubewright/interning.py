"""A bounded table of shared values: many equal values become one object, which saves memory."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeVar

__all__ = ["InternTable"]

T = TypeVar("T", bound=Hashable)


class InternTable:
    """Returns the first of all equal values that it has seen. Belongs to one thread.

    The table is emptied when it has `max_size` entries. That is correct, because a value that is no longer in the table
    is shared by fewer objects and nothing else. It is also cheap: a lookup is one call of a dict. An eviction order
    would cost more than the lookup itself, once for each label set of each watch event.
    """

    def __init__(self, max_size: int) -> None:
        self.max_size = max_size
        self._values: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self._values)

    def intern(self, value: T) -> T:
        """Returns the shared value that equals this one."""
        values = self._values
        if len(values) > self.max_size:
            values.clear()
        shared: T = values.setdefault(value, value)
        return shared
