"""`Finding`: the result of one check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `advice` describes the fix."""

    state: Literal["ok", "warning", "error"]
    what: str
    advice: str = ""
