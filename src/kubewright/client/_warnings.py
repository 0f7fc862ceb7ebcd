"""The server's warnings, logged once each."""

from __future__ import annotations

import logging
import re

__all__ = ["WarningLog"]

logger = logging.getLogger("kubewright.client")

_WARNING = re.compile(r'\d{3} \S+ "(?P<text>(?:[^"\\]|\\.)*)"')
_MOST = 1000  # a hostile server must not fill our memory


class WarningLog:
    """Remembers what it has logged; the same text is logged once."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def log(self, headers: list[str], request: str) -> None:
        """Log the texts of these `Warning` headers."""
        for header in headers:
            for match in _WARNING.finditer(header):
                text = re.sub(r"\\(.)", r"\1", match["text"])
                if text not in self._seen and len(self._seen) < _MOST:
                    self._seen.add(text)
                    logger.warning("the server warns: %s (at %s)", text, request)
