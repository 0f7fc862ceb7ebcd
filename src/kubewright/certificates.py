"""Certificate authorities, and the keys and certificates that they issue.

Those of test clusters are created at each start, live as long as the cluster, and are worthless elsewhere. Those of
webhooks are stored and loaded again (`CertificateAuthority.load`); the caller chooses their lifetime and clock.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kubewright.key_pair import KeyPair, write_private

__all__ = ["CertificateAuthority", "KeyPair", "new_signing_key", "write_private"]

_LIFETIME = timedelta(days=30)
_CLOCK_SKEW = timedelta(minutes=5)
_OF_AUTHORITY = ("digital_signature", "key_cert_sign", "crl_sign")
_KEY_USAGES = (
    *_OF_AUTHORITY,
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "encipher_only",
    "decipher_only",
)


class CertificateAuthority:
    """Creates an authority with a new key, valid from `now`. Default: the time of this machine."""

    def __init__(
        self, name: str = "kubewright-control-plane", *, now: datetime | None = None, life: timedelta = _LIFETIME
    ) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        builder = _builder(self._name, self._name, self._key.public_key(), now, life)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(_key_usage(_OF_AUTHORITY), critical=True)
        identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        self._certificate = builder.add_extension(identifier, critical=False).sign(self._key, hashes.SHA256())
        self.pair = KeyPair(self._certificate.public_bytes(serialization.Encoding.PEM), _pem(self._key))

    @classmethod
    def load(cls, pair: KeyPair) -> Self:
        """Returns an authority from its stored certificate and key. Raises `ValueError` if they are not one."""
        key = serialization.load_pem_private_key(pair.key, password=None)
        certificate = x509.load_pem_x509_certificate(pair.certificate)
        if not isinstance(key, ec.EllipticCurvePrivateKey) or certificate.public_key() != key.public_key():
            raise ValueError("the key does not belong to the certificate")
        made = cls.__new__(cls)
        made._key, made._name, made._certificate, made.pair = key, certificate.subject, certificate, pair
        return made

    def issue(
        self,
        name: str,
        groups: Sequence[str] = (),
        hosts: Sequence[str] = (),
        *,
        now: datetime | None = None,
        life: timedelta = _LIFETIME,
    ) -> KeyPair:
        """Returns a certificate for a user with that name and groups, and, with `hosts`, for a server with these names.

        It expires with the authority at the latest.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH] + ([ExtendedKeyUsageOID.SERVER_AUTH] if hosts else [])
        last = self._certificate.not_valid_after_utc
        builder = _builder(_name(name, groups), self._name, key.public_key(), now, life, last)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_key_usage(("digital_signature",)), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(authority, critical=False)
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False
            )
        certificate = builder.sign(self._key, hashes.SHA256())
        return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), _pem(key))

    def sign(
        self,
        key: CertificatePublicKeyTypes,
        *,
        subject: x509.Name,
        names: Sequence[x509.GeneralName],
        key_usages: Collection[str],
        purposes: Sequence[str],
        start: datetime,
        end: datetime,
    ) -> bytes:
        """Returns a certificate in PEM for a key that another program holds, with these usages and no other rights.

        `key_usages` are arguments of `x509.KeyUsage`, `purposes` object identifiers. It expires with the authority at
        the latest.
        """
        serial = x509.random_serial_number()
        builder = x509.CertificateBuilder(self._name, subject, key, serial).not_valid_before(start)
        builder = builder.not_valid_after(min(end, self._certificate.not_valid_after_utc))
        if key_usages:
            builder = builder.add_extension(_key_usage(key_usages), critical=True)
        if purposes:
            identifiers = [x509.ObjectIdentifier(each) for each in purposes]
            builder = builder.add_extension(x509.ExtendedKeyUsage(identifiers), critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(authority, critical=False)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=not subject.rdns)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def new_signing_key() -> tuple[bytes, bytes]:
    """Returns a new private key, for example to sign service account tokens, and its public key; both PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    public_format = serialization.PublicFormat.SubjectPublicKeyInfo
    return _pem(key), key.public_key().public_bytes(serialization.Encoding.PEM, public_format)


def _name(common_name: str, organizations: Sequence[str] = ()) -> x509.Name:
    # One relative name for each group: this is how Kubernetes reads groups from a certificate.
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    now: datetime | None,
    life: timedelta,
    last: datetime | None = None,
) -> x509.CertificateBuilder:
    now = now or datetime.now(UTC)
    end = now + life
    builder = x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number())
    return builder.not_valid_before(now - _CLOCK_SKEW).not_valid_after(end if last is None else min(end, last))


def _key_usage(usages: Collection[str]) -> x509.KeyUsage:
    return x509.KeyUsage(**{name: name in usages for name in _KEY_USAGES})


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
