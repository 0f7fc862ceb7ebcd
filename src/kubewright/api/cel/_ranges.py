"""Ranges of costs and sizes, from the smallest to the largest possible value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

__all__ = ["NOTHING", "ONE", "REGEX", "TRAVERSAL", "UNBOUNDED", "UNKNOWN", "Range", "fixed"]

UNBOUNDED: Final = 2**64 - 1
"""A bound that is not known."""

TRAVERSAL: Final = 0.1
"""The cost of reading one character or byte."""

REGEX: Final = 0.25
"""The cost of one character of a regular expression."""


@dataclass(frozen=True, slots=True)
class Range:
    """A range of costs or sizes. Sums and products stop at `UNBOUNDED`."""

    least: int
    most: int

    def __add__(self, other: Range) -> Range:
        return Range(min(self.least + other.least, UNBOUNDED), min(self.most + other.most, UNBOUNDED))

    def __mul__(self, other: Range) -> Range:
        return Range(min(self.least * other.least, UNBOUNDED), min(self.most * other.most, UNBOUNDED))

    def times(self, factor: float) -> Range:
        """Returns the range multiplied by a cost per unit, rounded up."""
        return Range(_scaled(self.least, factor), _scaled(self.most, factor))

    def __or__(self, other: Range) -> Range:
        """Returns the smallest range that contains both."""
        return Range(min(self.least, other.least), max(self.most, other.most))


def _scaled(value: int, factor: float) -> int:
    product = float(value) * factor
    return UNBOUNDED if product >= float(2**64) else math.ceil(product)


def fixed(value: int) -> Range:
    """Returns the range of one value."""
    return Range(value, value)


NOTHING: Final = Range(0, 0)
ONE: Final = Range(1, 1)
UNKNOWN: Final = Range(0, UNBOUNDED)
