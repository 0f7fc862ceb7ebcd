"""The certificate that metrics are served with: self-signed and in memory, or from files that are mounted."""

from __future__ import annotations

import hashlib
import logging
import ssl
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from kubewright.clock import Clock

if TYPE_CHECKING:
    from kubewright._certificates import KeyPair
    from kubewright.webhook import CertificateSource

__all__ = ["SelfSignedCertificate", "certificate_for"]

logger = logging.getLogger("kubewright.operator")

_LIFE: Final = timedelta(days=90)
_RENEWED_AFTER: Final = 2 / 3
_HOSTS: Final = ("localhost", "127.0.0.1", "::1")


def certificate_for(folder: str | None, operator: str, clock: Clock) -> CertificateSource:
    """The certificate in a folder of `tls.crt` and `tls.key`, read again when it changes; or a self-signed one."""
    if folder is None:
        return SelfSignedCertificate(operator, clock)
    from kubewright.webhook.certificates import CertificateFiles, Place

    at = Path(folder)
    return CertificateFiles([Place(at / "tls.crt", at / "tls.key")], clock=clock, of="metrics")


class SelfSignedCertificate:
    """A certificate for one process, as controller-runtime makes it: encryption without a CA that clients could trust.

    The key never leaves the memory of the process. A new pair replaces it after two thirds of its 90 days. Each new
    fingerprint is logged, so that a client can verify the server by it. Names: localhost, 127.0.0.1 and ::1, for
    clients that reach the pod by a forwarded port.
    """

    ca_bundle: None = None

    def __init__(self, operator: str, clock: Clock, hosts: Sequence[str] = _HOSTS) -> None:
        self._operator = operator
        self._clock = clock
        self._hosts = hosts
        self._pair: KeyPair | None = None
        self._made = clock.now()

    @property
    def pair(self) -> KeyPair:
        """The certificate and its key; new ones when it is time."""
        now = self._clock.now()
        if self._pair is None or now >= self._made + _LIFE * _RENEWED_AFTER:
            from kubewright._certificates import CertificateAuthority  # with all of cryptography

            authority = CertificateAuthority(f"{self._operator}-metrics", now=now, life=_LIFE)
            self._pair = authority.issue(f"{self._operator}-metrics", hosts=self._hosts, now=now, life=_LIFE)
            self._made = now
            logger.info(
                "metrics are served with a self-signed certificate, SHA-256 fingerprint %s, until %s",
                fingerprint_of(self._pair.certificate),
                self.expires.isoformat(),
            )
        return self._pair

    @property
    def expires(self) -> datetime:
        """When the certificate ends."""
        return self._made + _LIFE

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def fingerprint_of(certificate: bytes) -> str:
    """The SHA-256 of a certificate, PEM, as hexadecimal digits."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate.decode("ascii"))).hexdigest()
