"""Numbers as options, with error messages in plain words instead of click's ranges."""

from __future__ import annotations

from typing import Final

import click

__all__ = ["PORT", "SECONDS", "up_to"]


class _Whole(click.IntRange):
    name = "whole number"


class _Seconds(click.FloatRange):
    name = "number of seconds"


PORT: Final = _Whole(0, 65535)
"""A port. 0 selects a free one."""
SECONDS: Final = _Seconds(min=0, min_open=True)
"""A duration longer than zero."""


def up_to(most: int) -> click.IntRange:
    """Returns an option type for a number from 1 to `most`."""
    return _Whole(1, most)
