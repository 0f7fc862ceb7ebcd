"""`explain`: exceptions of extensions, as viewers see them."""

from __future__ import annotations

import logging
from typing import Final

from kubewright.client import ApiError
from kubewright.redaction import as_text, redact

__all__ = ["explain"]

logger = logging.getLogger("kubewright.console")

_MAX_LENGTH: Final = 2_000


def explain(error: Exception, what: str) -> tuple[str, str]:
    """Returns what failed and why. Logs the traceback, unless the API server rejected a request."""
    title = f"{what[:1].upper()}{what[1:]} failed"
    if isinstance(error, ApiError):
        return title, redact(str(error))[:_MAX_LENGTH]
    logger.error("%s failed", what, exc_info=error)
    return title, redact(f"{type(error).__name__}: {as_text(error)}")[:_MAX_LENGTH]
