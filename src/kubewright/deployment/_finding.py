"""`Finding`: the result of one check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `advice` says how to fix a problem."""

    state: Literal["ok", "warning", "error"]
    what: str
    advice: str = ""
