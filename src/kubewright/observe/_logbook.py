"""`LogBook`: the last lines of the log about each object, in bounded memory."""

from __future__ import annotations

import threading
from collections import deque
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec

from kubewright.cache import ObjectKey

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
        self.size = 0
        """Estimated bytes of all lines."""
        self._lines: dict[_Place, deque[bytes]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many objects there are lines of."""
        return len(self._lines)

    def add(self, controller: str, key: ObjectKey, line: LogLine) -> None:
        """Keep a line."""
        encoded = msgspec.json.encode(line)
        if len(encoded) > self.bounds.line_bytes:
            shorter = line.message[:200]
            encoded = msgspec.json.encode(
                LogLine(time=line.time, level=line.level, logger=line.logger, message=f"{shorter}… (too long to keep)")
            )
        place = (controller, key)
        with self._lock:
            # Put at the end: the order of the dict is the order of use.
            kept = self._lines.pop(place, None) or deque()
            self._lines[place] = kept
            kept.append(encoded)
            self.size += _LINE + len(encoded)
            while len(kept) > self.bounds.lines:
                self.size -= _LINE + len(kept.popleft())
            while len(self._lines) > 1 and (len(self._lines) > self.bounds.objects or self.size > self.bounds.bytes):
                oldest = next(iter(self._lines))
                self.size -= sum(_LINE + len(one) for one in self._lines.pop(oldest))

    def of(self, controller: str, key: ObjectKey) -> list[LogLine]:
        """The lines about an object, the newest last."""
        with self._lock:
            kept = [*self._lines.get((controller, key), ())]
        return [_decoder.decode(line) for line in kept]


_decoder: Final = msgspec.json.Decoder(LogLine)
