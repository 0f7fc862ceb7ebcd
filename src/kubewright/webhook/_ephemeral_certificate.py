"""`EphemeralCertificate`: a certificate for one run, with its own CA."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC

from kubewright.webhook._serving_certificate import ServingCertificate

__all__ = ["EphemeralCertificate"]


class EphemeralCertificate(ServingCertificate[bytes]):
    """A certificate for tests and for a developer's machine, valid for a month. The keys exist only in memory."""

    def __init__(self, hosts: Sequence[str]) -> None:
        from cryptography import x509

        from kubewright.certificates import CertificateAuthority

        super().__init__()
        authority = CertificateAuthority("kubewright-webhooks")
        pair = authority.issue("webhooks", hosts=hosts)
        expires = x509.load_pem_x509_certificate(pair.certificate).not_valid_after_utc.astimezone(UTC)
        self._serve(pair, expires=expires, ca_bundle=authority.pair.certificate)
