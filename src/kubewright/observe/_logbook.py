"""`LogBook`: the last log records of each object, in bounded memory."""

from __future__ import annotations

import threading
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec

from kubewright.cache import ObjectKey
from kubewright.lru import LRUMemory

__all__ = ["LogBook", "LogBookBounds", "LogLine"]

# Estimated overhead of a line in bytes.
_LINE: Final = 80

_LogKey: TypeAlias = tuple[str, ObjectKey]


class LogLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One log record, with the fields of its JSON."""

    time: datetime
    level: str
    logger: str = ""
    message: str = ""
    error: str = ""
    traceback: str = ""
    stack: str = ""
    trace: str = ""
    extra: dict[str, Any] = {}
    """Other fields of the record, by name. Any, because a program can log any value."""


class LogBookBounds(msgspec.Struct, frozen=True, kw_only=True):
    """How much is kept. The first bound that is reached counts; the least recently logged objects are dropped."""

    lines: int = 100
    """The number of lines of each object."""
    line_bytes: int = 8 * 1024
    """The size of one line. A longer line is replaced by a short notice."""
    objects: int = 1_000
    bytes: int = 4 * 1024 * 1024


class LogBook:
    """The last lines of each object. Lines are stored as JSON and decoded on read. Safe from any thread."""

    def __init__(self, bounds: LogBookBounds | None = None) -> None:
        self.bounds = bounds or LogBookBounds()
        self._lines: LRUMemory[_LogKey, tuple[bytes, ...]] = LRUMemory(
            self.bounds.objects, max_weight=self.bounds.bytes, weigh=_size
        )
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Returns the number of objects with lines."""
        return len(self._lines)

    @property
    def size(self) -> int:
        """Estimated bytes of all lines."""
        return int(self._lines.weight)

    def add(self, controller: str, key: ObjectKey, line: LogLine) -> None:
        """Adds a line."""
        encoded = msgspec.json.encode(line)
        if len(encoded) > self.bounds.line_bytes:
            shorter = line.message[:200]
            encoded = msgspec.json.encode(
                LogLine(time=line.time, level=line.level, logger=line.logger, message=f"{shorter}… (too long to keep)")
            )
        place = (controller, key)
        with self._lock:  # two threads must not both extend the same lines
            lines = (*(self._lines.get(place) or ()), encoded)
            self._lines.put(place, lines[-self.bounds.lines :])

    def of(self, controller: str, key: ObjectKey) -> list[LogLine]:
        """Returns the lines about an object, the newest last."""
        return [_decoder.decode(line) for line in self._lines.get((controller, key)) or ()]


def _size(lines: tuple[bytes, ...]) -> int:
    return _LINE * len(lines) + sum(map(len, lines))


_decoder: Final = msgspec.json.Decoder(LogLine)
