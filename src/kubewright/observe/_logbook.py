"""`LogBook`: the last lines of the log about each object, in bounded memory."""

from __future__ import annotations

import threading
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec

from kubewright.cache import ObjectKey
from kubewright.lru import LRUMemory

__all__ = ["LogBook", "LogBookBounds", "LogLine"]

# A rough size, in bytes, of what a line takes besides its text.
_LINE: Final = 80

_Place: TypeAlias = tuple[str, ObjectKey]


class LogLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the log, as its JSON has it."""

    time: datetime
    level: str
    logger: str = ""
    message: str = ""
    error: str = ""
    traceback: str = ""
    stack: str = ""
    trace: str = ""
    extra: dict[str, Any] = {}
    """What else the line was given, by name. Any, because it is whatever the program logs."""


class LogBookBounds(msgspec.Struct, frozen=True, kw_only=True):
    """How much is kept. Whatever bound is met first counts; the objects that were logged about least recently go."""

    lines: int = 100
    """Of each object."""
    line_bytes: int = 8 * 1024
    """Of one line; a longer one is left out, and a short one in its place says so."""
    objects: int = 1_000
    bytes: int = 4 * 1024 * 1024


class LogBook:
    """The last lines about each object. Lines are kept as JSON, and decoded when somebody looks. For any thread."""

    def __init__(self, bounds: LogBookBounds | None = None) -> None:
        self.bounds = bounds or LogBookBounds()
        self._lines: LRUMemory[_Place, tuple[bytes, ...]] = LRUMemory(
            self.bounds.objects, max_weight=self.bounds.bytes, weigh=_size
        )
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Returns how many objects there are lines of."""
        return len(self._lines)

    @property
    def size(self) -> int:
        """Estimated bytes of all lines."""
        return int(self._lines.weight)

    def add(self, controller: str, key: ObjectKey, line: LogLine) -> None:
        """Keeps a line."""
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
