"""A bounded memory that evicts the least recently used entries."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["LRUMemory"]

K = TypeVar("K")
V = TypeVar("V")


class LRUMemory(Generic[K, V]):
    """A mapping of at most `max_size` entries. Adding one more evicts the least recently used entry.

    With `weigh`, the weights of all entries together stay under `max_weight`, too. The newest entry is kept even if it
    is heavier than that alone. A value must not change its weight while it is stored.

    `get` and `put` count as use; `peek` and `in` do not. Safe from any thread.
    """

    def __init__(
        self, max_size: int, *, max_weight: float = float("inf"), weigh: Callable[[V], float] | None = None
    ) -> None:
        if max_size < 1:
            raise ValueError(f"max_size must be at least 1, not {max_size}")
        self.max_size = max_size
        self.max_weight = max_weight
        self.weight = 0.0
        """The weights of all entries, added up."""
        self._weigh = weigh
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: K) -> bool:
        return key in self._entries

    def get(self, key: K) -> V | None:
        """Returns the value of an entry, or None."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key]

    def peek(self, key: K) -> V | None:
        """Returns the value of an entry, or None. Does not count as use."""
        return self._entries.get(key)

    def put(self, key: K, value: V) -> V | None:
        """Sets an entry and returns its former value, or None if it had none."""
        entries, weigh = self._entries, self._weigh
        with self._lock:
            before = entries.pop(key, None)
            entries[key] = value
            if weigh is not None:
                self.weight += weigh(value) - (0 if before is None else weigh(before))
            while len(entries) > self.max_size or (self.weight > self.max_weight and len(entries) > 1):
                _, evicted = entries.popitem(last=False)
                if weigh is not None:
                    self.weight -= weigh(evicted)
            return before

    def pop(self, key: K) -> V | None:
        """Removes an entry and returns its value, or None if there is none."""
        with self._lock:
            before = self._entries.pop(key, None)
            if before is not None and self._weigh is not None:
                self.weight -= self._weigh(before)
            return before

    def discard(self, key: K) -> None:
        """Removes an entry, if there is one."""
        self.pop(key)

    def keys(self) -> list[K]:
        """Returns the keys, the most recently used last."""
        with self._lock:
            return list(self._entries)

    def values(self) -> list[V]:
        """Returns the values, the most recently used last."""
        with self._lock:
            return list(self._entries.values())
