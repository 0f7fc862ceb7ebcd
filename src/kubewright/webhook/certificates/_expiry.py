"""Checks whether a certificate is valid now."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from kubewright.webhook._certificate_source import CertificateSource
from kubewright.webhook.certificates._validation import Validity, certificates_in

__all__ = ["expiry_problem"]


def expiry_problem(source: CertificateSource, now: datetime) -> str | None:
    """Returns why a replica is not ready, for `/readyz`: its certificate has expired or is not valid yet; or None.

    A certificate counts as valid a few minutes early, because clocks differ.
    """
    if now >= source.expires:
        return f"the webhook certificate expired at {source.expires.isoformat()}"
    validity = _validity(source.pair.certificate)
    if not validity.has_begun(now):
        return f"the webhook certificate is not valid before {validity.begins.isoformat()}"
    return None


@lru_cache(maxsize=4)  # probes run every few seconds, and a certificate is served for weeks
def _validity(certificate: bytes) -> Validity:
    return Validity.of(certificates_in(certificate, "the served pair")[0])
