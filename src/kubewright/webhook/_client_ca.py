"""`ClientCAs`: the CAs of client certificates, from a file that may change at any time."""

from __future__ import annotations

import errno
import logging
import ssl
from pathlib import Path

__all__ = ["ClientCAs", "require"]

logger = logging.getLogger("kubewright.webhook")


class ClientCAs:
    """A file of CA certificates. The constructor raises `OSError` if the file is unreadable or has none.

    The file is read for each new connection, which is rare, and compared by content, so every way to change it works.
    Unusable content never replaces usable content; it is logged once.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._content = self._read()
        self._problem = ""

    def now(self) -> bytes:
        """Returns the content of the file; the same object until it changes."""
        try:
            content = self._read()
        except OSError as error:
            problem = str(error.strerror)
            if problem != self._problem:
                logger.error("the client CAs cannot be used: %s; keeping the old ones", problem)
            self._problem = problem
            return self._content
        self._problem = ""
        if content != self._content:
            self._content = content
            logger.info("the client CAs in %s have changed", self._path)
        return self._content

    def _read(self) -> bytes:
        try:
            content = self._path.read_bytes()
        except OSError as error:
            raise OSError(error.errno, f"{self._path}: {error.strerror}") from None
        try:
            require(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), content)
        except (ssl.SSLError, ValueError):
            raise OSError(errno.EINVAL, f"{self._path} has no readable certificate") from None
        return content


def require(context: ssl.SSLContext, authorities: bytes) -> None:
    """Makes a context accept only clients with a certificate that one of these CAs signed."""
    # Anything else in the file is a comment, in any encoding.
    context.load_verify_locations(cadata=authorities.decode("ascii", "ignore"))
    context.verify_mode = ssl.CERT_REQUIRED
    # A client that resumes a session sends no certificate, so one of a removed CA would still be accepted. Python
    # cannot disable resumption for TLS 1.2, and every API server supports 1.3.
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
