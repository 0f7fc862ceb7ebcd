"""`Finding`: one thing that was looked at in a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `advice` says what to do about it, if something is to be done."""

    state: Literal["ok", "warning", "error"]
    what: str
    advice: str = ""
