"""Python's garbage collector, and many new objects at once."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collection_paused"]


@contextmanager
def collection_paused() -> Iterator[None]:
    """Let the collector rest while many objects are made that all stay alive.

    It would walk all of them again and again, find nothing, and take most of the time. Only for short work that does
    not await: what other code throws away meanwhile is kept until the end.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
