"""Signs approved requests with the cluster's CA, by the rules of kube-controller-manager."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from kubewright.cluster._state import State
from kubewright.cluster.certificates._pem import pem_blocks

if TYPE_CHECKING:
    from cryptography import x509

__all__ = ["expiry_of", "signed_certificate"]

_LIFETIME: Final = timedelta(days=365)
_SHORTEST: Final = timedelta(minutes=10)
_BACKDATED: Final = timedelta(minutes=5)
_SHORT_LIFETIME: Final = timedelta(hours=8)
# The signers refuse all other usages.
_KEY_USAGES: Final = {"digital signature": "digital_signature", "key encipherment": "key_encipherment"}
_PURPOSES: Final = {"server auth": "1.3.6.1.5.5.7.3.1", "client auth": "1.3.6.1.5.5.7.3.2"}
# Go writes the attributes of a subject in this order, and drops all others.
_SUBJECT: Final = ("2.5.4.6", "2.5.4.10", "2.5.4.11", "2.5.4.7", "2.5.4.8", "2.5.4.9", "2.5.4.17", "2.5.4.3", "2.5.4.5")


def signed_certificate(
    state: State, request: x509.CertificateSigningRequest, usages: Sequence[str], expiration_seconds: int | None
) -> str:
    """Returns the certificate in PEM, in base64 as in `status.certificate`.

    It has the subject, the alternative names and the key of the request, exactly the requested usages, and no other
    extension of the request. It is never a CA. It starts five minutes ago, and lasts `expirationSeconds`, at most a
    year.
    """
    now = state.clock.now()
    life = _LIFETIME
    if expiration_seconds is not None:
        life = min(max(timedelta(seconds=expiration_seconds), _SHORTEST), _LIFETIME)
    end = now + life if life < _SHORT_LIFETIME else now + life - _BACKDATED
    pem = state.authority.sign(
        request.public_key(),
        subject=_subject(request),
        names=_alternative_names(request),
        key_usages={_KEY_USAGES[usage] for usage in usages if usage in _KEY_USAGES},
        purposes=sorted(_PURPOSES[usage] for usage in usages if usage in _PURPOSES),
        start=now - _BACKDATED,
        end=end,
    )
    return base64.b64encode(pem).decode()


def expiry_of(encoded: str) -> datetime | None:
    """Returns when the first certificate of `status.certificate` expires; None if it cannot be parsed."""
    from cryptography import x509

    block = next(pem_blocks(base64.b64decode(encoded)), None)
    try:
        return None if block is None else x509.load_der_x509_certificate(block.content).not_valid_after_utc
    except ValueError:
        return None


def _subject(request: x509.CertificateSigningRequest) -> x509.Name:
    from cryptography import x509

    parts = []
    for oid in _SUBJECT:
        found = request.subject.get_attributes_for_oid(x509.ObjectIdentifier(oid))
        if oid in ("2.5.4.3", "2.5.4.5"):  # a certificate has one common name and serial number: the last one
            found = found[-1:]
        if found:
            parts.append(x509.RelativeDistinguishedName(dict.fromkeys(found)))
    return x509.Name(parts)


def _alternative_names(request: x509.CertificateSigningRequest) -> list[x509.GeneralName]:
    from cryptography import x509

    try:
        found = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    order = (x509.DNSName, x509.RFC822Name, x509.IPAddress, x509.UniformResourceIdentifier)
    return [name for kind in order for name in found if isinstance(name, kind)]
