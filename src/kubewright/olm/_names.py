"""Names that OLM can use for objects and as values of labels."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["NAME_RULE", "is_name"]

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_LENGTH: Final = 63
NAME_RULE: Final = f"use lower case letters, digits, '-' and '.', at most {_MAX_LENGTH}, such as foo.v1.0.0"


def is_name(text: str) -> bool:
    """Whether a ClusterServiceVersion can have this name."""
    return _NAME.fullmatch(text) is not None and len(text) <= _MAX_LENGTH
