"""A bounded memory that forgets what was not used for the longest time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

__all__ = ["LRUMemory"]

K = TypeVar("K")
V = TypeVar("V")


class LRUMemory(Generic[K, V]):
    """A mapping of at most `max_size` entries. Adding one more evicts the least recently used entry.

    Reading and writing an entry count as use. Safe from any thread.
    """

    def __init__(self, max_size: int) -> None:
        if max_size < 1:
            raise ValueError(f"max_size must be at least 1, not {max_size}")
        self.max_size = max_size
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """Returns the value of an entry, or None."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key]

    def put(self, key: K, value: V) -> V | None:
        """Sets an entry and returns its former value, or None if it had none."""
        with self._lock:
            before = self._entries.pop(key, None)
            self._entries[key] = value
            if len(self._entries) > self.max_size:
                self._entries.popitem(last=False)
            return before

    def discard(self, key: K) -> None:
        """Removes an entry, if there is one."""
        with self._lock:
            self._entries.pop(key, None)
