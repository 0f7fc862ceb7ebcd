"""Reads the body of a review, with limits on its size and its time.

An AdmissionReview has at most two objects, and the API server accepts none larger than 3 MiB. A ConversionReview has a
whole list, whose size only memory limits: about four copies of its bytes exist while it is processed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewright.clock import Clock, TimeLimitExceeded, within
from kubewright.durations import format_duration
from kubewright.webhook.reviews._reviews import BadReview

if TYPE_CHECKING:
    from kubewright.http import ServerRequest

__all__ = ["LARGEST_ADMISSION", "LARGEST_CONVERSION", "read_body"]

LARGEST_ADMISSION: Final = 7 * 1024 * 1024
LARGEST_CONVERSION: Final = 64 * 1024 * 1024


async def read_body(
    request: ServerRequest, *, largest: int, clock: Clock, seconds: float
) -> tuple[bytes, BadReview | None]:
    """Returns the body. For one that is too large or too slow, returns the part that arrived, and the error."""
    parts: list[bytes] = []
    reading = _read(request, largest, parts)
    try:
        # Most bodies are complete by now and need no timer.
        complete = await (reading if request.complete else within(clock, seconds, reading, real_time=True))
    except TimeLimitExceeded:
        return b"".join(parts), BadReview(
            f"the body of the review did not arrive within {format_duration(seconds)}", code=408
        )
    if not complete:
        return b"".join(parts), BadReview(f"the review is larger than {largest // 2**20} MiB", code=413)
    return b"".join(parts), None


async def _read(request: ServerRequest, largest: int, parts: list[bytes]) -> bool:
    """Appends to the parts until the body is complete or too large. Returns whether it is complete."""
    announced, size = request.content_length, 0
    async for part in request.pieces():
        parts.append(part)
        size += len(part)
        if max(announced, size) > largest:
            return False
    return True
