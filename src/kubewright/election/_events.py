"""What an elector tells when something changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ElectionEvent"]


@dataclass(frozen=True, slots=True)
class ElectionEvent:
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
