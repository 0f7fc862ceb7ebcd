"""What an elector tells when something changes."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["ElectionEvent"]


class ElectionEvent(msgspec.Struct, frozen=True):
    """A change.

    - `observed`: the lease names another holder than before, or nobody; `leader` is who.
    - `started`: this elector leads now.
    - `stopped`: this elector led and does not any more; `reason` says why, and `lost` whether it had not asked for it:
      from then on nothing may be written in its name, not even that.
    """

    kind: Literal["observed", "started", "stopped"]
    leader: str
    reason: str = ""
    lost: bool = False
