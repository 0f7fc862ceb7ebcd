"""Whether a certificate can be served now."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from kubewright.webhook._certificates_protocol import CertificateSource
from kubewright.webhook.certificates._pairs import Validity, certificates_in

__all__ = ["expiry_problem"]


def expiry_problem(source: CertificateSource, now: datetime) -> str | None:
    """Why a replica is not ready, as a check of `/readyz` says it: its certificate has expired, or is not valid yet.

    None while it counts. A few minutes before its beginning it does: clocks differ.
    """
    if now >= source.expires:
        return f"the certificate of the webhooks has expired at {source.expires.isoformat()}"
    validity = _validity(source.pair.certificate)
    if not validity.has_begun(now):
        return f"the certificate of the webhooks is not valid before {validity.begins.isoformat()}"
    return None


@lru_cache(maxsize=4)  # probes ask every few seconds, and a certificate is served for weeks
def _validity(certificate: bytes) -> Validity:
    return Validity.of(certificates_in(certificate, "the pair that is served")[0])
