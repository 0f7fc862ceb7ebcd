"""Pauses of Python's garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collection_paused"]


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pauses the collector while many objects are created that all stay alive.

    The collector would walk all of them repeatedly, find nothing, and take most of the time. Use it for short work that
    does not await: garbage of other code is kept until the end.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
