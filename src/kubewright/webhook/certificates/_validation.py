"""Reads untrusted certificates and keys. Raises `Unusable` for invalid or mismatched ones."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from kubewright.certificates import KeyPair
from kubewright.webhook._tls import rejection_reason

__all__ = ["Unusable", "Validity", "certificates_in", "check_pair", "hosts_of", "is_issued_by", "public_key_of"]

_CLOCK_TOLERANCE: Final = timedelta(minutes=5)


class Unusable(ValueError):
    """A certificate or a key cannot be used. The message has the reason, and nothing of their content."""


class Validity(msgspec.Struct, frozen=True):
    """The validity period of a certificate."""

    begins: datetime
    ends: datetime

    @classmethod
    def of(cls, certificate: x509.Certificate) -> Validity:
        """Returns the validity period of a certificate."""
        return cls(certificate.not_valid_before_utc, certificate.not_valid_after_utc)

    def has_begun(self, now: datetime) -> bool:
        """Returns whether the period has begun, with a tolerance of five minutes for clocks that are behind."""
        return self.begins - _CLOCK_TOLERANCE <= now

    def covers(self, now: datetime) -> bool:
        """Returns whether the certificate is valid at this time."""
        return self.has_begun(now) and now < self.ends

    def at(self, share: float) -> datetime:
        """Returns the time at which a share of the period has passed."""
        return self.begins + (self.ends - self.begins) * share


def certificates_in(pem: bytes, what: str) -> list[x509.Certificate]:
    """Returns all certificates of a PEM document, at least one."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError:
        raise Unusable(f"{what} has no readable certificate") from None


def public_key_of(key: bytes, what: str) -> object:
    """Returns the public key of a private key, to compare it with that of a certificate."""
    try:
        return serialization.load_pem_private_key(key, password=None).public_key()
    except TypeError:
        raise Unusable(f"{what} is encrypted; use a key without a password") from None
    except (ValueError, UnsupportedAlgorithm):
        raise Unusable(f"{what} has no readable private key") from None


def check_pair(pair: KeyPair, certificate: str = "the certificate", key: str = "the key") -> x509.Certificate:
    """Returns the leaf of a matching pair that OpenSSL accepts. Raises `Unusable` otherwise."""
    leaf = certificates_in(pair.certificate, certificate)[0]
    try:
        certified = leaf.public_key()
    except (ValueError, UnsupportedAlgorithm):
        raise Unusable(f"{certificate} has a key of an unknown type") from None
    if public_key_of(pair.key, key) != certified:
        raise Unusable(f"{key} is not the key of {certificate}")
    if (why := rejection_reason(pair)) is not None:
        raise Unusable(f"{certificate} cannot be served: {why}")
    return leaf


def hosts_of(certificate: x509.Certificate) -> set[str]:
    """Returns the DNS names of a certificate."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return set(names.get_values_for_type(x509.DNSName))


def is_issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Returns whether the CA signed the certificate."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True
