"""The server's warnings, logged once each."""

from __future__ import annotations

import logging
import re

from kubewright.redaction import one_line

__all__ = ["WarningLog", "warning_messages"]

logger = logging.getLogger("kubewright.client")

_WARNING = re.compile(r'\d{3} \S+ "(?P<text>(?:[^"\\]|\\.)*)"')
_MAX_WARNINGS = 1000  # a hostile server must fill neither the memory nor the log


def warning_messages(headers: list[str]) -> list[str]:
    """Returns the messages in the values of `Warning` headers."""
    return [re.sub(r"\\(.)", r"\1", match["text"]) for header in headers for match in _WARNING.finditer(header)]


class WarningLog:
    """Logs each message once, and at most 1000 different ones."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def log(self, headers: list[str], request: str) -> None:
        """Logs the messages of these `Warning` headers."""
        for text in warning_messages(headers):
            if text not in self._seen and len(self._seen) < _MAX_WARNINGS:
                self._seen.add(text)
                logger.warning("the server warns: %s (at %s)", one_line(text), request)
