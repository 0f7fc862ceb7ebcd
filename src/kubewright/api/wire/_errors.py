"""The exceptions of undecodable JSON."""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["UNREADABLE"]

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""msgspec's errors for bytes that are not JSON, do not fit the type, are not UTF-8, or are nested too deeply."""
