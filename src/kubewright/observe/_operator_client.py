"""`OperatorClient`: reads the pages that a running operator serves under `/debug/kubewright`.

On loopback the operator serves these pages over plain HTTP. Elsewhere it serves them over HTTPS (`https://` in the
address), and asks the API server whether the client may read them. The client therefore sends a cluster token, but only
to a server whose certificate it has verified: by a CA, or by the fingerprint that the operator logs.

The pages are untrusted input. The client limits their size and the time that a request may take.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import os
import re
import ssl
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import msgspec

from kubewright.client import (
    TLS,
    ApiError,
    Client,
    ClientConfig,
    ConfigError,
    Credentials,
    Forbidden,
    NotFound,
    RetryPolicy,
    Unauthorized,
)

__all__ = [
    "DEBUG_PATH",
    "OperatorAddress",
    "OperatorClient",
    "OperatorError",
    "OperatorTrust",
    "read_token",
    "tokens_of",
]

DEBUG_PATH: Final = "/debug/kubewright"
_TIMEOUT_SECONDS: Final = 10.0
_MAX_BODY_BYTES: Final = 8 * 1024 * 1024
_ADDRESS_FORMAT: Final = "the address of an operator's pages, such as 127.0.0.1:8081 or https://localhost:8080"
_FINGERPRINT: Final = re.compile(r"[0-9a-f]{64}")


class OperatorError(Exception):
    """The operator's pages cannot be read. The message contains the reason and the fix."""


class OperatorAddress(msgspec.Struct, frozen=True):
    """The address of an operator's pages: `host:port`, and whether it uses HTTPS."""

    netloc: str
    secure: bool = False

    @classmethod
    def parse(cls, text: str) -> OperatorAddress:
        """Parses `8081`, `127.0.0.1:8081`, `http://…` or `https://…`. Raises `ValueError` for anything else."""
        bare = text.strip().rstrip("/")
        secure = bare.startswith("https://")
        bare = bare.removeprefix("https://").removeprefix("http://")
        if bare.isascii() and bare.isdecimal():
            bare = f"127.0.0.1:{bare}"
        if not _is_netloc(bare):
            raise ValueError(f"expected {_ADDRESS_FORMAT}, not {text!r}")
        return cls(bare, secure)

    def __str__(self) -> str:
        return f"https://{self.netloc}" if self.secure else self.netloc


class OperatorTrust(msgspec.Struct, frozen=True, kw_only=True):
    """Specifies how to verify an operator's certificate. Default: by the CAs of this machine.

    Attributes:
        ca_file: a PEM file with the CAs to trust.
        server_name: the host name in the certificate, if it differs from the host of the address.
        fingerprints: the accepted SHA-256 fingerprints of the certificate. The operator logs the fingerprint of a
            self-signed certificate.
    """

    ca_file: str | None = None
    server_name: str | None = None
    fingerprints: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for fingerprint in self.fingerprints:
            if not _FINGERPRINT.fullmatch(_normalized(fingerprint)):
                raise ValueError(f"expected a SHA-256 fingerprint (64 hexadecimal digits), not {fingerprint!r}")


class OperatorClient:
    """Reads the pages of one operator. Sends `credentials` only over HTTPS. Close it after use."""

    def __init__(
        self, address: OperatorAddress, credentials: Credentials | None = None, trust: OperatorTrust | None = None
    ) -> None:
        self.address = address
        self._credentials = credentials or Credentials()
        self._trust = trust or OperatorTrust()
        self._client: Client | None = None

    def __repr__(self) -> str:
        return f"<OperatorClient {self.address}>"

    async def get(self, path: str) -> bytes | None:
        """Returns the page at a path below `/debug/kubewright`, such as `/site/default/one`; None if there is none.

        Raises `OperatorError`.
        """
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                return await self._read(f"{DEBUG_PATH}{path}")
        except NotFound:
            return None
        except TimeoutError:
            raise self._unreachable("no answer in time") from None
        except (Unauthorized, Forbidden) as error:
            raise OperatorError(f"{self.address} refuses this client: {_in_one_line(error.status.message)}") from error
        except ConfigError as error:
            raise OperatorError(self._verification_message(error)) from error
        except ApiError as error:
            if not error.code:
                raise self._unreachable(error.status.message) from error
            message = _in_one_line(error.status.message)
            raise OperatorError(f"{self.address} answers {error.code}: {message}; is it an operator?") from error

    async def close(self) -> None:
        """Closes the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _read(self, path: str) -> bytes:
        if self._client is None:
            self._client = await self._connect()
        body = bytearray()
        async with contextlib.aclosing(self._client.stream(path, accept="application/json")) as chunks:  # type: ignore[type-var]
            async for chunk in chunks:
                body += chunk
                if len(body) > _MAX_BODY_BYTES:
                    raise OperatorError(f"{self.address} sends more than {_MAX_BODY_BYTES} bytes; is it an operator?")
        return bytes(body)

    async def _connect(self) -> Client:
        config = ClientConfig(
            server=f"{'https' if self.address.secure else 'http'}://{self.address.netloc}",
            tls=await self._tls() if self.address.secure else TLS(),
            credentials=self._credentials if self.address.secure else Credentials(),
            disable_compression=True,  # so that the size limit also bounds memory
        )
        return Client(config, retry=RetryPolicy(attempts=1), timeout=_TIMEOUT_SECONDS)

    async def _tls(self) -> TLS:
        trust = self._trust
        if not trust.fingerprints:
            return TLS(ca_file=trust.ca_file, server_name=trust.server_name)
        parts = urlsplit(f"//{self.address.netloc}")
        address = parts.hostname or "", parts.port or 443
        try:
            pem = await asyncio.to_thread(ssl.get_server_certificate, address, timeout=_TIMEOUT_SECONDS)
        except OSError as error:
            raise self._unreachable(str(error.strerror or error)) from error
        found = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()
        if not any(hmac.compare_digest(found, _normalized(one)) for one in trust.fingerprints):
            raise OperatorError(
                f"the certificate of {self.address} has another fingerprint ({found}): use the one in the"
                " operator's log; the operator creates a new certificate at each start"
            )
        # The client trusts only this certificate from now on. A self-signed certificate is always issued for loopback
        # names, so the host of the address would not match.
        return TLS(ca_data=pem.encode(), server_name=trust.server_name or "localhost")

    def _unreachable(self, reason: str) -> OperatorError:
        return OperatorError(
            f"no operator answers at {self.address} ({_in_one_line(reason)}): start it with --health-bind"
            f" {self.address.netloc}, or forward a port to it"
        )

    def _verification_message(self, error: ConfigError) -> str:
        for cause in _causes_of(error):
            if isinstance(cause, ssl.SSLCertVerificationError):
                return (
                    f"the certificate of {self.address} cannot be verified ({cause.verify_message}): pass its CA"
                    " file, or the fingerprint that the operator logs"
                )
        return str(error)


def tokens_of(config: ClientConfig) -> Credentials:
    """Returns the credentials of a configuration that an operator accepts: a token, or a plugin that creates one.

    Omits passwords and client certificates. Raises `OperatorError` if there is no token.
    """
    given = config.credentials
    if not (given.token or given.token_file or given.exec):
        raise OperatorError(
            f"{config.source} has no token, and operators accept only tokens: pass one of an account that may get"
            f" {DEBUG_PATH}, such as the output of `kubectl create token ACCOUNT`"
        )
    return Credentials(token=given.token, token_file=given.token_file, exec=given.exec, user=given.user)


def read_token(path: str | os.PathLike[str]) -> Credentials:
    """Returns the token in a file. Raises `OperatorError`."""
    try:
        with open(path, encoding="ascii") as file:
            token = file.read(65_536).strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the file is not ASCII text"
        raise OperatorError(f"cannot read the token from {os.fspath(path)}: {reason}") from None
    if not token:
        raise OperatorError(f"cannot read the token from {os.fspath(path)}: the file is empty")
    return Credentials(token=token)


def _is_netloc(text: str) -> bool:
    try:
        parts = urlsplit(f"//{text}")
        named = bool(parts.hostname) and bool(parts.port)
    except ValueError:
        return False
    return named and parts.netloc == text and "@" not in text and not any(char.isspace() for char in text)


def _normalized(fingerprint: str) -> str:
    return fingerprint.lower().removeprefix("sha256:").replace(":", "")


def _in_one_line(text: str) -> str:
    """Returns a server's message as one line that is safe to print on a terminal."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _causes_of(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        cause = pending.pop()
        if cause is not None and id(cause) not in seen:
            seen.add(id(cause))
            yield cause
            pending += [cause.__cause__, cause.__context__]
