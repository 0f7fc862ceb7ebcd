"""TLS contexts for the client, created from files or data, and again when the files change.

Three deliberate choices, so that Python can connect wherever kubectl can:

- `VERIFY_X509_STRICT`, which Python 3.13 enabled in `create_default_context`, stays disabled. It rejects CAs without
  key identifiers, which many clusters have and Go accepts.
- `VERIFY_X509_PARTIAL_CHAIN` is enabled: every certificate in the CA bundle is a trust anchor, as in Go, also if it is
  an intermediate or the server's own.
- Only the subject's alternative names count, not its common name. TLS 1.2 is the minimum.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import msgspec

from kubewright.client._config_errors import ConfigError
from kubewright.redaction import Redacted

if TYPE_CHECKING:
    from datetime import datetime

    from kubewright.client._config import TLS, ClientConfig

__all__ = ["ClientCertificate", "TLSSource", "certificate_expiry", "explain_verification", "tls_context"]

log = logging.getLogger("kubewright.client")

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)

# OpenSSL's X509_V_ERR_* codes.
_EXPIRED = 10
# A bad signature (7) is among them: it means another CA of the same name, and all kubeadm clusters use the same name.
_UNKNOWN_ISSUER = {2, 7, 18, 19, 20, 21}
_OTHER_NAME = {62, 64}

_Stamp = tuple[int, int, int, int] | None


class ClientCertificate(Redacted, msgspec.Struct, frozen=True):
    """A certificate chain and its key, each as a file or as PEM data; `label` describes the owner."""

    redacted = frozenset({"certificate_data", "key_data"})

    label: str
    certificate_file: str | None = None
    certificate_data: bytes | None = None
    key_file: str | None = None
    key_data: bytes | None = None

    def read(self) -> tuple[bytes, bytes]:
        """Returns the current PEM of both."""
        certificate = self._part("certificate", self.certificate_file, self.certificate_data)
        return certificate, self._part("key", self.key_file, self.key_data)

    def check(self) -> None:
        """Raises ConfigError for an unusable pair."""
        _identify(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), *self.read(), self.label)

    def _part(self, what: str, file: str | None, data: bytes | None) -> bytes:
        if data is not None:
            return data
        return _read(file or "", f"the client {what} of {self.label}")


class TLSSource:
    """Provides the context for connections to one server, and reuses it while its files do not change.

    `current` may be called often: it checks a file's inode, time and size, and reads the file only if these changed, so
    that the symlink swap of a projected volume is detected. While new files are unusable, for example because only one
    of certificate and key has been written, the last valid context stays in use, with one warning.
    """

    def __init__(self, tls: TLS, certificate: ClientCertificate | None = None) -> None:
        self._tls = tls
        self._certificate = certificate
        self._context: ssl.SSLContext | None = None
        self._stamps: tuple[_Stamp, ...] = ()
        self._digest = b""
        self._warned: tuple[_Stamp, ...] | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the context is made from."""
        certificate = self._certificate
        names = [self._tls.ca_file if self._tls.ca_data is None else None]
        if certificate is not None:
            names.append(certificate.certificate_file if certificate.certificate_data is None else None)
            names.append(certificate.key_file if certificate.key_data is None else None)
        return tuple(name for name in names if name is not None)

    @property
    def certificate(self) -> ClientCertificate | None:
        """The certificate of the client."""
        return self._certificate

    def use(self, certificate: ClientCertificate | None) -> None:
        """Uses another certificate from the next `current` on."""
        if certificate != self._certificate:
            self._certificate, self._context, self._digest = certificate, None, b""

    def current(self) -> ssl.SSLContext:
        """Returns the context to connect with; the same object as before unless something changed."""
        stamps = tuple(_stamp(file) for file in self.files)
        if self._context is not None and stamps == self._stamps:
            return self._context
        try:
            context = self._load()
        except ConfigError as error:
            if self._context is None:
                raise
            if self._warned != stamps:
                self._warned = stamps
                log.warning("%s; the previous one stays in use", error)
            return self._context
        # Taken before reading: a file that changes in between is read again.
        self._stamps = stamps
        return context

    def _load(self) -> ssl.SSLContext:
        authorities = self._authorities()
        pair = self._certificate.read() if self._certificate is not None else None
        digest = hashlib.sha256(repr((authorities, pair)).encode()).digest()
        if self._context is None or digest != self._digest:
            self._context, self._digest = self._build(authorities, pair), digest
        return self._context

    def _authorities(self) -> bytes | None:
        if self._tls.ca_data is not None:
            return self._tls.ca_data
        return _read(self._tls.ca_file, "the certificate authority") if self._tls.ca_file is not None else None

    def _build(self, authorities: bytes | None, pair: tuple[bytes, bytes] | None) -> ssl.SSLContext:
        if self._tls.insecure:
            context = _bare_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        else:
            context = tls_context(authorities, self._tls.ca_file)
        if pair is not None and self._certificate is not None:
            _identify(context, *pair, self._certificate.label)
        return context


def tls_context(ca_data: bytes | None, ca_file: str | None = None) -> ssl.SSLContext:
    """Returns a context that verifies servers as Go does, by CAs in PEM. Default: the CAs of the system.

    Raises `ConfigError` for CAs that cannot be read; `ca_file` is for its message.
    """
    context = _bare_context()
    if ca_data is None:
        context.load_default_certs()
    else:
        _trust(context, ca_data, ca_file)
    return context


def _bare_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["http/1.1"])
    if ssl.HAS_NEVER_CHECK_COMMON_NAME:
        context.hostname_checks_common_name = False
    return context


def certificate_expiry(pem: bytes) -> datetime | None:
    """Returns when the first certificate of a PEM file expires, or None if it cannot be read."""
    # Its import takes a tenth of a second, so it is imported only for an error message.
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(pem).not_valid_after_utc
    except ValueError:
        return None


def explain_verification(error: ssl.SSLCertVerificationError, config: ClientConfig) -> ConfigError:
    """Explains why the certificate of the server was rejected, and how to fix it."""
    server, tls = f"the server {config.server}", config.tls
    if error.verify_code == _EXPIRED:
        return ConfigError(f"the certificate of {server} has expired; renew it, or check this machine's clock")
    if error.verify_code in _OTHER_NAME:
        wanted = f"the tls-server-name {tls.server_name}" if tls.server_name else "that address"
        return ConfigError(
            f"the certificate of {server} is not for {wanted}; use an address that it names, or set tls-server-name"
        )
    if error.verify_code in _UNKNOWN_ISSUER:
        trusted = tls.ca_file or ("certificate-authority-data" if tls.ca_data else "the CAs of this machine")
        return ConfigError(
            f"the certificate of {server} is not signed by an authority in {trusted} ({config.source}); "
            "set the certificate-authority of this cluster"
        )
    return ConfigError(f"the certificate of {server} was rejected: {error.verify_message}")


def _read(file: str, what: str) -> bytes:
    try:
        with open(file, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise ConfigError(f"{what} cannot be read from {file}: {error.strerror}") from None


def _stamp(file: str) -> _Stamp:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)


def _trust(context: ssl.SSLContext, authorities: bytes, file: str | None) -> None:
    origin = f"the certificate authority {file}" if file else "certificate-authority-data"
    # Bundles have comments in any encoding between the certificates; OpenSSL accepts only ASCII from memory.
    blocks = _CERTIFICATE.findall(authorities)
    if not blocks:
        raise ConfigError(f"{origin} contains no certificate; expected PEM (-----BEGIN CERTIFICATE-----)")
    try:
        context.load_verify_locations(cadata=b"\n".join(blocks).decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError):
        raise ConfigError(f"{origin} contains a damaged certificate") from None


def _identify(context: ssl.SSLContext, certificate: bytes, key: bytes, label: str) -> None:
    def encrypted() -> NoReturn:
        # Otherwise OpenSSL would ask for the pass phrase on the terminal, and wait.
        raise ConfigError(f"the client key of {label} is protected by a pass phrase; use one without")

    with _as_file(certificate + b"\n" + key) as path:
        try:
            context.load_cert_chain(path, password=encrypted)
        except ssl.SSLError as error:
            problem = "do not match" if error.reason == "KEY_VALUES_MISMATCH" else "are not valid PEM"
            raise ConfigError(f"the client certificate and key of {label} {problem}") from None


@contextmanager
def _as_file(secret: bytes) -> Iterator[str]:
    """Provides a temporary file for OpenSSL, which loads keys only from files. The file is removed afterwards.

    It is in memory if the system supports that, so that no key is written to disk, and pods with a read-only file
    system work.
    """
    if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
        with os.fdopen(os.memfd_create("kubewright"), "wb") as memory:
            memory.write(secret)
            memory.flush()
            yield f"/proc/self/fd/{memory.fileno()}"
        return
    # mkstemp: readable by this user only.
    descriptor, path = tempfile.mkstemp(prefix="kubewright-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(secret)
        yield path
    finally:
        os.unlink(path)
