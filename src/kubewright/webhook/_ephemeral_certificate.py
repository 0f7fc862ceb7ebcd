"""`EphemeralCertificate`: a certificate for one run, with its own CA."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from kubewright.certificates import KeyPair

__all__ = ["EphemeralCertificate"]


class EphemeralCertificate:
    """A `CertificateSource` for tests and for a developer's machine. The keys exist only in memory."""

    def __init__(self, hosts: Sequence[str]) -> None:
        from cryptography import x509

        from kubewright.certificates import CertificateAuthority

        authority = CertificateAuthority("kubewright-webhooks")
        self._pair = authority.issue("webhooks", hosts=hosts)
        self._bundle = authority.pair.certificate
        self._expires = x509.load_pem_x509_certificate(self._pair.certificate).not_valid_after_utc.astimezone(UTC)

    @property
    def pair(self) -> KeyPair:
        """The certificate and its key."""
        return self._pair

    @property
    def ca_bundle(self) -> bytes:
        """The CA certificate."""
        return self._bundle

    @property
    def expires(self) -> datetime:
        """When the certificate expires: in a month."""
        return self._expires

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
