"""`ElectionEvent`: a change of an elector."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["ElectionEvent"]


class ElectionEvent(msgspec.Struct, frozen=True):
    """A change.

    - `observed`: the holder of the lease changed; `leader` is the new one, or empty.
    - `started`: this elector leads now.
    - `stopped`: this elector no longer leads. `reason` says why. `lost` is true if it did not stop on request: from
      then on nothing may be written in its name, not even an event about it.
    """

    kind: Literal["observed", "started", "stopped"]
    leader: str
    reason: str = ""
    lost: bool = False
