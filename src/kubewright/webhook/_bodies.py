"""Reading the body of a review: no more than a review can have, and no longer than the API server waits.

An AdmissionReview holds two objects at most, and the API server takes none of more than 3 MiB. A ConversionReview holds
a whole list, and nothing but memory limits that: its bytes are there about four times while it is answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewright.clock import Clock, TimeLimitExceeded, within
from kubewright.durations import format_duration
from kubewright.webhook._reviews import BadReview

if TYPE_CHECKING:
    from kubewright.http import ServerRequest

__all__ = ["LARGEST_ADMISSION", "LARGEST_CONVERSION", "read_body"]

LARGEST_ADMISSION: Final = 7 * 1024 * 1024
LARGEST_CONVERSION: Final = 64 * 1024 * 1024


async def read_body(
    request: ServerRequest, *, largest: int, clock: Clock, seconds: float
) -> tuple[bytes, BadReview | None]:
    """The body; of one that is too large or too slow what has come of it, and what to tell about that."""
    parts: list[bytes] = []
    reading = _read(request, largest, parts)
    try:
        # Most are there as a whole by now, and need no timer.
        complete = await (reading if request.complete else within(clock, seconds, reading, real_time=True))
    except TimeLimitExceeded:
        return b"".join(parts), BadReview(f"the review did not arrive within {format_duration(seconds)}", code=408)
    if not complete:
        return b"".join(parts), BadReview(f"the review has more than {largest // 2**20} MiB", code=413)
    return b"".join(parts), None


async def _read(request: ServerRequest, largest: int, parts: list[bytes]) -> bool:
    """Add what comes to these parts, until all of it is there or it is too much. Whether it is all."""
    announced, size = request.content_length, 0
    async for part in request.pieces():
        parts.append(part)
        size += len(part)
        if max(announced, size) > largest:
            return False
    return True
