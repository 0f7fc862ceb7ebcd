"""What can go wrong with a certificate, in a sentence."""

from __future__ import annotations

__all__ = ["CertificateError"]


class CertificateError(Exception):
    """There can be no certificate as things are. The text says why, and what to do."""
