"""TLS contexts that use the current certificate of a source for each new connection.

A certificate that OpenSSL rejects, such as for a short key or a weak signature, is not used: the last one stays. The
file with client CAs is read again for each new connection too.
"""

from __future__ import annotations

import logging
import os
import ssl
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from kubewright.webhook._certificate_source import CertificateSource
from kubewright.webhook._client_ca import ClientCAs, require

if TYPE_CHECKING:
    from kubewright.certificates import KeyPair

__all__ = ["rejection_reason", "serving_context"]

logger = logging.getLogger("kubewright.webhook")

_Credentials: TypeAlias = "tuple[KeyPair, bytes | None]"
"""The server certificate and the client CAs."""


def serving_context(source: CertificateSource, client_ca: str | None = None) -> ssl.SSLContext:
    """Returns a server context. With `client_ca`, a file of CAs, clients need a certificate signed by one of them."""
    authorities = ClientCAs(client_ca) if client_ca is not None else None
    now = source.pair, None if authorities is None else authorities.now()
    context = _context(*now)
    context.sni_callback = _swapper(source, authorities, now, context)
    return context


def rejection_reason(pair: KeyPair) -> str | None:
    """Returns why OpenSSL rejects a pair, or None if it can be served."""
    try:
        _context(pair, None)
    except ssl.SSLError as error:
        return _reason(error)
    return None


def _swapper(
    source: CertificateSource, authorities: ClientCAs | None, first: _Credentials, context: ssl.SSLContext
) -> Callable[[ssl.SSLObject, str | None, ssl.SSLContext], None]:
    """Returns the SNI callback, which OpenSSL calls for each connection, even without a server name."""
    last: tuple[_Credentials, ssl.SSLContext] = (first, context)
    reported: Any = None

    def swap(connection: ssl.SSLObject, name: str | None, listening: ssl.SSLContext) -> None:
        nonlocal last, reported
        trusted = None if authorities is None else authorities.now()
        for pair in (source.pair, last[0][0]):  # falls back to the old pair if the new one cannot be served
            if pair is last[0][0] and trusted is last[0][1]:
                break
            try:
                last = (pair, trusted), _context(pair, trusted)
                break
            except OSError as error:
                if pair is not reported:
                    logger.error("the new certificate cannot be served: %s; keeping the old one", _reason(error))
                reported = pair
        connection.context = last[1]

    return swap


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLError) and error.reason:
        return f"OpenSSL rejects it: {error.reason.replace('_', ' ').lower()}"
    return str(error)


def _context(pair: KeyPair, authorities: bytes | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    _load(context, pair)
    if authorities is not None:
        require(context, authorities)
    return context


def _load(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Loads a pair. Python reads keys only from files; on Linux it is an anonymous file in memory."""
    both = pair.key.rstrip(b"\n") + b"\n" + pair.certificate
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("webhook-certificate", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, both)
            context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile() as file:  # readable only by this user
            file.write(both)
            file.flush()
            context.load_cert_chain(file.name)
