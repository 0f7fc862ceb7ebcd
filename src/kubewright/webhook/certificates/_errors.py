"""The error of certificate sources."""

from __future__ import annotations

__all__ = ["CertificateError"]


class CertificateError(Exception):
    """There is no usable certificate. The message has the reason and the fix."""
