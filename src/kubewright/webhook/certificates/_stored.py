"""`StoredCertificate`: the content of the Secret of a self-managed certificate.

| key of the Secret | |
|---|---|
| `tls.crt`, `tls.key` | the served certificate and its key |
| `ca.crt` | every trusted CA, oldest first |
| `ca.key` | the key of the CA that signs |
| `next-ca.key` | the key of the CA that will sign when every API server trusts it |

The names are those of cert-manager's Secrets, so that the same tools read both. The key of a former CA is not stored:
it cannot sign again.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from kubewright.certificates import KeyPair
from kubewright.redaction import Redacted
from kubewright.webhook.certificates._validation import (
    Unusable,
    Validity,
    certificates_in,
    check_pair,
    hosts_of,
    is_issued_by,
    public_key_of,
)

__all__ = ["StoredCertificate"]

_CERTIFICATE, _KEY, _TRUSTED, _SIGNER, _SUCCESSOR = "tls.crt", "tls.key", "ca.crt", "ca.key", "next-ca.key"


class StoredCertificate(Redacted, msgspec.Struct, frozen=True, kw_only=True):
    """A certificate with its CAs. They match; the certificate may have expired."""

    redacted = frozenset({"trusted"})

    leaf: KeyPair
    trusted: tuple[x509.Certificate, ...]
    signer: KeyPair | None = None
    successor: KeyPair | None = None

    @property
    def bundle(self) -> bytes:
        """The CA bundle for the API server, PEM."""
        return b"".join(one.public_bytes(Encoding.PEM) for one in self.trusted)

    @property
    def validity(self) -> Validity:
        """The validity of the served certificate."""
        return Validity.of(self._leaf)

    @property
    def hosts(self) -> set[str]:
        """The host names of the served certificate."""
        return hosts_of(self._leaf)

    @property
    def _leaf(self) -> x509.Certificate:
        return certificates_in(self.leaf.certificate, _CERTIFICATE)[0]

    def data(self) -> dict[str, bytes]:
        """Returns the data of the Secret."""
        made = {_CERTIFICATE: self.leaf.certificate, _KEY: self.leaf.key, _TRUSTED: self.bundle}
        if self.signer is not None:
            made[_SIGNER] = self.signer.key
        if self.successor is not None:
            made[_SUCCESSOR] = self.successor.key
        return made

    @classmethod
    def read(cls, data: Mapping[str, bytes]) -> StoredCertificate:
        """Reads the data of a Secret, which is untrusted. Raises `Unusable`.

        A key that belongs to none of the CAs is ignored: a new CA will replace it.
        """
        if missing := [key for key in (_CERTIFICATE, _KEY, _TRUSTED) if not data.get(key)]:
            raise Unusable(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
        leaf = KeyPair(data[_CERTIFICATE], data[_KEY])
        certificate = check_pair(leaf, _CERTIFICATE, _KEY)
        trusted = tuple(certificates_in(data[_TRUSTED], _TRUSTED))
        if not all(_signs(one) for one in trusted):
            raise Unusable(f"{_TRUSTED} has a certificate that is not a CA")
        if not any(is_issued_by(certificate, one) for one in trusted):
            raise Unusable(f"{_CERTIFICATE} is not signed by a CA in {_TRUSTED}")
        signer, successor = (_authority(data.get(key), trusted) for key in (_SIGNER, _SUCCESSOR))
        return cls(leaf=leaf, trusted=trusted, signer=signer, successor=successor)


def _signs(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, ValueError):
        return False


def _authority(key: bytes | None, trusted: tuple[x509.Certificate, ...]) -> KeyPair | None:
    """Returns the CA that a key belongs to, or None."""
    try:
        public = public_key_of(key or b"", "the key of the CA")
    except Unusable:
        return None
    for one in trusted:
        if one.public_key() == public:
            return KeyPair(one.public_bytes(Encoding.PEM), key or b"")
    return None
