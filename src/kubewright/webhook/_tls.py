"""The TLS side of the server: whichever certificate the source has now is shown to each new connection.

One that OpenSSL refuses, because its key is too short or its signature too weak, is not shown: the last one stays. The
file with the CAs of clients is read again for each new connection, too.
"""

from __future__ import annotations

import logging
import os
import ssl
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from kubewright.webhook._certificates_protocol import CertificateSource
from kubewright.webhook._client_authorities import ClientAuthorities, require

if TYPE_CHECKING:
    from kubewright.certificates import KeyPair

__all__ = ["serving_context", "why_refused"]

logger = logging.getLogger("kubewright.webhook")

_Shown: TypeAlias = "tuple[KeyPair, bytes | None]"
"""The certificate of the server, and the CAs of its clients."""


def serving_context(source: CertificateSource, client_ca: str | None = None) -> ssl.SSLContext:
    """A context for a server. `client_ca` is a file of CAs, one of which must have signed each client's certificate."""
    authorities = ClientAuthorities(client_ca) if client_ca is not None else None
    now = source.pair, None if authorities is None else authorities.now()
    context = _context(*now)
    context.sni_callback = _swapper(source, authorities, now, context)
    return context


def why_refused(pair: KeyPair) -> str | None:
    """What OpenSSL has against a pair, in a context that is thrown away; None when it can be served."""
    try:
        _context(pair, None)
    except ssl.SSLError as error:
        return _in_words(error)
    return None


def _swapper(
    source: CertificateSource, authorities: ClientAuthorities | None, first: _Shown, context: ssl.SSLContext
) -> Callable[[ssl.SSLObject, str | None, ssl.SSLContext], None]:
    """Called at the beginning of each connection, also when the client names no host."""
    last: tuple[_Shown, ssl.SSLContext] = (first, context)
    complained: Any = None

    def swap(connection: ssl.SSLObject, name: str | None, listening: ssl.SSLContext) -> None:
        nonlocal last, complained
        trusted = None if authorities is None else authorities.now()
        for pair in (source.pair, last[0][0]):  # the old one, where the new one cannot be served
            if pair is last[0][0] and trusted is last[0][1]:
                break
            try:
                last = (pair, trusted), _context(pair, trusted)
                break
            except OSError as error:
                if pair is not complained:
                    logger.error("the new certificate cannot be served: %s; the old one stays", _in_words(error))
                complained = pair
        connection.context = last[1]

    return swap


def _in_words(error: OSError) -> str:
    if isinstance(error, ssl.SSLError) and error.reason:
        return f"OpenSSL refuses it: {error.reason.replace('_', ' ').lower()}"
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
    """Python reads keys from files only; on Linux the file is in memory and has no name."""
    both = pair.key.rstrip(b"\n") + b"\n" + pair.certificate
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("webhook-certificate", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, both)
            context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile() as file:  # which only this user can read
            file.write(both)
            file.flush()
            context.load_cert_chain(file.name)
