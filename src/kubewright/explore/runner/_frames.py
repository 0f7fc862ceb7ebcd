"""Messages between a pool and its servers: a length and a pickled value. Both sides are this program."""

from __future__ import annotations

import os
import pickle
import select
import struct
import time
from typing import Any, Final

__all__ = ["read", "write"]

_HEAD: Final = struct.Struct("<Q")
_MAX_FRAME_BYTES: Final = 1 << 30


def write(descriptor: int, value: Any) -> None:
    """Writes a value."""
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    view = memoryview(_HEAD.pack(len(data)) + data)
    while view:
        view = view[os.write(descriptor, view) :]


def read(descriptor: int, timeout: float | None = None) -> Any:
    """Returns the next value. Raises EOFError at the end, and TimeoutError after `timeout` seconds."""
    end = None if timeout is None else time.monotonic() + timeout
    (size,) = _HEAD.unpack(_exactly(descriptor, _HEAD.size, end))
    if size > _MAX_FRAME_BYTES:
        raise EOFError(f"a message of {size} bytes is too large")
    return pickle.loads(_exactly(descriptor, size, end))  # noqa: S301 - written by a process of this program


def _exactly(descriptor: int, size: int, end: float | None) -> bytes:
    parts = []
    while size:
        if end is not None:
            left = end - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise TimeoutError
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
