"""The TLS side of the server: whichever certificate the source has now is shown to each new connection.

One that OpenSSL refuses, because its key is too short or its signature too weak, is not shown: the last one stays.
"""

from __future__ import annotations

import logging
import os
import ssl
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kubewright.webhook._certificates_protocol import CertificateSource

if TYPE_CHECKING:
    from kubewright._certificates import KeyPair

__all__ = ["serving_context", "why_refused"]

logger = logging.getLogger("kubewright.webhook")


def serving_context(source: CertificateSource, client_ca: str | None = None) -> ssl.SSLContext:
    """A context for a server. `client_ca` is a file of CAs, one of which must have signed each client's certificate."""
    context = _context(source.pair, client_ca)
    context.sni_callback = _swapper(source, client_ca, source.pair, context)
    return context


def why_refused(pair: KeyPair) -> str | None:
    """What OpenSSL has against a pair, in a context that is thrown away; None when it can be served."""
    try:
        _context(pair, None)
    except ssl.SSLError as error:
        return _in_words(error)
    return None


def _swapper(
    source: CertificateSource, client_ca: str | None, pair: KeyPair, context: ssl.SSLContext
) -> Callable[[ssl.SSLObject, str | None, ssl.SSLContext], None]:
    """Called at the beginning of each connection, also when the client names no host."""
    last: tuple[Any, ssl.SSLContext] = (pair, context)
    complained: Any = None

    def swap(connection: ssl.SSLObject, name: str | None, listening: ssl.SSLContext) -> None:
        nonlocal last, complained
        now = source.pair
        if now is not last[0]:
            try:
                last = (now, _context(now, client_ca))
            except OSError as error:
                if now is not complained:
                    logger.error(
                        "the new webhook certificate cannot be served: %s; the old one stays", _in_words(error)
                    )
                complained = now
        connection.context = last[1]

    return swap


def _in_words(error: OSError) -> str:
    if isinstance(error, ssl.SSLError) and error.reason:
        return f"OpenSSL refuses it: {error.reason.replace('_', ' ').lower()}"
    return str(error)


def _context(pair: KeyPair, client_ca: str | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    _load(context, pair)
    if client_ca is not None:
        context.load_verify_locations(cafile=client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
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
