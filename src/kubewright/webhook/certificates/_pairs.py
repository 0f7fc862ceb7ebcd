"""Reading certificates and keys that somebody else may have written. What does not fit together is an `Unusable`."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from kubewright.certificates import KeyPair
from kubewright.webhook._tls import why_refused

__all__ = ["Unusable", "Validity", "certificates_in", "check_pair", "hosts_of", "is_issued_by", "public_key_of"]

_BEHIND: Final = timedelta(minutes=5)


class Unusable(ValueError):
    """A certificate, a key or both cannot be used. The text says why, and shows nothing of them."""


class Validity(msgspec.Struct, frozen=True):
    """From when to when a certificate counts."""

    begins: datetime
    ends: datetime

    @classmethod
    def of(cls, certificate: x509.Certificate) -> Validity:
        """The life of a certificate."""
        return cls(certificate.not_valid_before_utc, certificate.not_valid_after_utc)

    def has_begun(self, now: datetime) -> bool:
        """Whether it counts already. A clock that is a few minutes behind others is no reason to doubt it."""
        return self.begins - _BEHIND <= now

    def covers(self, now: datetime) -> bool:
        """Whether it counts, neither too early nor too late."""
        return self.has_begun(now) and now < self.ends

    def at(self, share: float) -> datetime:
        """The moment when that share of its life is over."""
        return self.begins + (self.ends - self.begins) * share


def certificates_in(pem: bytes, what: str) -> list[x509.Certificate]:
    """All certificates of a PEM text, at least one."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError:
        raise Unusable(f"{what} holds no readable certificate") from None


def public_key_of(key: bytes, what: str) -> object:
    """The public part of a private key, to compare with that of a certificate."""
    try:
        return serialization.load_pem_private_key(key, password=None).public_key()
    except TypeError:
        raise Unusable(f"{what} is encrypted; the key has to be readable without a password") from None
    except (ValueError, UnsupportedAlgorithm):
        raise Unusable(f"{what} holds no readable private key") from None


def check_pair(pair: KeyPair, certificate: str = "the certificate", key: str = "the key") -> x509.Certificate:
    """The leaf of a pair that fits together, and that OpenSSL serves."""
    leaf = certificates_in(pair.certificate, certificate)[0]
    try:
        certified = leaf.public_key()
    except (ValueError, UnsupportedAlgorithm):
        raise Unusable(f"{certificate} is for a key of an unknown kind") from None
    if public_key_of(pair.key, key) != certified:
        raise Unusable(f"{key} is not the key of {certificate}")
    if (why := why_refused(pair)) is not None:
        raise Unusable(f"{certificate} cannot be served: {why}")
    return leaf


def hosts_of(certificate: x509.Certificate) -> set[str]:
    """The DNS names that a certificate is for."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return set(names.get_values_for_type(x509.DNSName))


def is_issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Whether the authority has signed the certificate."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True
