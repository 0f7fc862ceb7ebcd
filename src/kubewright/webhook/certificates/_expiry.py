"""Whether a certificate can still be served."""

from __future__ import annotations

from datetime import datetime

from kubewright.webhook._certificates_protocol import CertificateSource

__all__ = ["expiry_problem"]


def expiry_problem(source: CertificateSource, now: datetime) -> str | None:
    """Why a replica is not ready, as a check of `/readyz` says it: its certificate has expired. None while it lives."""
    if now < source.expires:
        return None
    return f"the certificate of the webhooks has expired at {source.expires.isoformat()}"
