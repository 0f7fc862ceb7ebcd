"""Numbers as options: what is none of them is told in words, where click would speak of its ranges."""

from __future__ import annotations

from typing import Final

import click

__all__ = ["PORT", "SECONDS", "up_to"]


class _Whole(click.IntRange):
    name = "whole number"


class _Seconds(click.FloatRange):
    name = "number of seconds"


PORT: Final = _Whole(0, 65535)
"""A port; 0 is a free one."""
SECONDS: Final = _Seconds(min=0, min_open=True)
"""A time that is longer than none."""


def up_to(most: int) -> click.IntRange:
    """How many, from 1 up to that."""
    return _Whole(1, most)
