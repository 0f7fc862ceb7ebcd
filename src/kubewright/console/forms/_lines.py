"""`matching_lines`: the common lines of two documents, in bounded time.

`difflib` alone takes minutes for thousands of lines and would block the event loop. Lines that occur exactly once in
both documents serve as anchors, as in patience diff. `difflib` compares only small ranges between two anchors. Larger
ranges count as removed and added, which is correct but not minimal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

__all__ = ["matching_lines"]

_SMALL: Final = 40_000
"""Lines of one range times lines of the other."""
_ALL: Final = 400_000


def matching_lines(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Returns pairs of line numbers with equal lines, ascending on both sides."""
    found: list[tuple[int, int]] = []
    parts = [(0, len(one), 0, len(other))]
    left = _ALL
    while parts:
        low, high, other_low, other_high = parts.pop()
        while low < high and other_low < other_high and one[low] == other[other_low]:
            found.append((low, other_low))
            low, other_low = low + 1, other_low + 1
        while low < high and other_low < other_high and one[high - 1] == other[other_high - 1]:
            high, other_high = high - 1, other_high - 1
            found.append((high, other_high))
        size = (high - low) * (other_high - other_low)
        if not size:
            continue
        if size <= min(_SMALL, left):
            left -= size
            matcher = SequenceMatcher(None, one[low:high], other[other_low:other_high], autojunk=False)
            for at, other_at, length in matcher.get_matching_blocks():
                found += [(low + at + step, other_low + other_at + step) for step in range(length)]
            continue
        anchors = _anchors(one, low, high, other, other_low, other_high)
        for at, other_at in anchors:
            found.append((at, other_at))
            parts.append((low, at, other_low, other_at))
            low, other_low = at + 1, other_at + 1
        if anchors:
            parts.append((low, high, other_low, other_high))
    return sorted(found)


def _anchors(
    one: Sequence[str], low: int, high: int, other: Sequence[str], other_low: int, other_high: int
) -> list[tuple[int, int]]:
    """Returns lines that occur once in each range: the longest sequence that ascends on both sides."""
    counts, other_counts = Counter(one[low:high]), Counter(other[other_low:other_high])
    places = {other[at]: at for at in range(other_low, other_high) if other_counts[other[at]] == 1}
    pairs = [(at, places[one[at]]) for at in range(low, high) if counts[one[at]] == 1 and one[at] in places]
    ends: list[int] = []
    rows: list[int] = []
    before: list[int] = []
    for number, (_, other_at) in enumerate(pairs):
        length = bisect_left(ends, other_at)
        before.append(rows[length - 1] if length else -1)
        ends[length : length + 1] = [other_at]
        rows[length : length + 1] = [number]
    row: list[tuple[int, int]] = []
    number = rows[-1] if rows else -1
    while number >= 0:
        row.append(pairs[number])
        number = before[number]
    return row[::-1]
