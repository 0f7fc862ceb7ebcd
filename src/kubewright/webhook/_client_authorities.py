"""`ClientAuthorities`: the CAs that sign the certificates of clients, in a file that may change at any time."""

from __future__ import annotations

import errno
import logging
import ssl
from pathlib import Path

__all__ = ["ClientAuthorities", "require"]

logger = logging.getLogger("kubewright.webhook")


class ClientAuthorities:
    """A file of CAs. Making one raises `OSError` when it cannot be read or holds none.

    It is read at each new connection, which is rare: by content, so it does not matter how it changes. What is of no
    use later never takes the place of what was; that is logged once.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._content = self._read()
        self._complaint = ""

    def now(self) -> bytes:
        """What the file holds; the same object as long as that has not changed."""
        try:
            content = self._read()
        except OSError as error:
            complaint = str(error.strerror)
            if complaint != self._complaint:
                logger.error("the CAs of clients cannot be used: %s; the old ones stay", complaint)
            self._complaint = complaint
            return self._content
        self._complaint = ""
        if content != self._content:
            self._content = content
            logger.info("the CAs of clients in %s have changed", self._path)
        return self._content

    def _read(self) -> bytes:
        try:
            content = self._path.read_bytes()
        except OSError as error:
            raise OSError(error.errno, f"{self._path}: {error.strerror}") from None
        try:
            require(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), content)
        except (ssl.SSLError, ValueError):
            raise OSError(errno.EINVAL, f"{self._path} holds no readable certificate") from None
        return content


def require(context: ssl.SSLContext, authorities: bytes) -> None:
    """Let in only clients whose certificate is signed by one of these."""
    # What is no certificate there is a comment, in whatever language.
    context.load_verify_locations(cadata=authorities.decode("ascii", "ignore"))
    context.verify_mode = ssl.CERT_REQUIRED
    # Who resumes a session shows no certificate, so one of a CA that is trusted no more would still come in. Those of
    # TLS 1.2 cannot be forbidden from Python, and every API server knows 1.3.
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
