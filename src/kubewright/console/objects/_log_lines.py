"""Lines of container logs: their level, repeats, and filters. Pure functions; lines are untrusted text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

__all__ = ["LEVELS", "ContainerLine", "fold_repeats", "level_of", "select_lines"]

LEVELS: Final = ("debug", "info", "warning", "error")
"""The levels, from the least to the most severe."""

_START: Final = 400
_TIMESTAMP: Final = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) ?")
# klog's `E0102 15:04:05`, logfmt and JSON levels, and plain words.
_KLOG: Final = re.compile(r"^([IWEF])\d{4} ")
_WORD: Final = re.compile(r"\b(trace|debug|info|notice|warn(?:ing)?|err(?:or)?|fatal|critical|panic|traceback)\b", re.I)
_LEVEL_OF: Final = {
    **dict.fromkeys(("trace", "debug"), "debug"),
    **dict.fromkeys(("info", "notice", "i"), "info"),
    **dict.fromkeys(("warn", "warning", "w"), "warning"),
    **dict.fromkeys(("err", "error", "fatal", "critical", "panic", "traceback", "e", "f"), "error"),
}
_VARIABLE: Final = re.compile(r"\d+")


class ContainerLine(NamedTuple):
    """A line, and how often it is repeated in a row."""

    text: str
    times: int = 1

    def __str__(self) -> str:
        return self.text if self.times == 1 else f"{self.text}  ({self.times} times)"


def level_of(line: str) -> str:
    """Returns the level that a line names near its start; `info` if it names none."""
    start = _TIMESTAMP.sub("", line[:_START])
    if found := _KLOG.match(start):
        return _LEVEL_OF[found[1].lower()]
    word = _WORD.search(start)
    return _LEVEL_OF[word[1].lower()] if word else "info"


def select_lines(lines: Iterable[str], level: str = "", text: str = "") -> Iterator[str]:
    """Yields the lines of at least this level that contain the text, in any case."""
    least, wanted = LEVELS.index(level) if level in LEVELS else 0, text.lower()
    for line in lines:
        if (not least or LEVELS.index(level_of(line)) >= least) and wanted in line.lower():
            yield line


def fold_repeats(lines: Iterable[str]) -> list[ContainerLine]:
    """Folds consecutive lines that differ only in timestamps and numbers into the last of them."""
    folded: list[ContainerLine] = []
    last = ""
    for line in lines:
        shape = _VARIABLE.sub("0", _TIMESTAMP.sub("", line))
        if folded and shape == last:
            folded[-1] = ContainerLine(line, folded[-1].times + 1)
        else:
            folded.append(ContainerLine(line))
        last = shape
    return folded
