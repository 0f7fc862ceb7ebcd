"""Text that may be shown: in a log, an event, a page. What is in it may come from anybody."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["as_text", "showable"]

_SECRETS: Final = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\beyJ[A-Za-z0-9_-]{8,8192}\.[A-Za-z0-9_-]{8,8192}\.[A-Za-z0-9_-]*"
    r"|(?<=\bBearer )[A-Za-z0-9._~+/=-]{8,}"
)


def showable(text: str) -> str:
    """The text without private keys, tokens and credentials, and such that it can be encoded."""
    if "eyJ" in text or "Bearer " in text or "PRIVATE KEY" in text:
        text = re.sub(_SECRETS, "(withheld)", text, flags=re.DOTALL)
    return _encodable(text)


def _encodable(text: str) -> str:
    """The text such that it can be encoded: half of a character, as in the name of a file, is written as `\\udce9`."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def as_text(said: object) -> str:
    """What somebody's code says, as text that can be encoded, whatever it is: often an error instead of its text."""
    try:
        text = str.__str__(said) if isinstance(said, str) else str(said) or type(said).__name__
    except Exception:
        text = f"a {type(said).__name__} that cannot be shown"
    return _encodable(text)
