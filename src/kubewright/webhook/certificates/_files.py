"""`CertificateFiles`: a certificate from files that another program writes, reloaded when they change."""

from __future__ import annotations

import logging
import stat
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from kubewright.certificates import KeyPair
from kubewright.clock import Clock
from kubewright.tasks import background
from kubewright.webhook._serving_certificate import ServingCertificate
from kubewright.webhook.certificates._errors import CertificateError
from kubewright.webhook.certificates._validation import Unusable, Validity, check_pair

__all__ = ["CertificateFiles", "CertificatePaths"]

logger = logging.getLogger("kubewright.webhook")

_MAX_FILE_BYTES: Final = 1 << 20
_STARTUP_POLL: Final = 0.5


class CertificatePaths(msgspec.Struct, frozen=True):
    """The paths of a certificate, its key and, optionally, its CA bundle."""

    certificate: Path
    key: Path
    authorities: Path | None = None

    def __str__(self) -> str:
        return f"{self.certificate} and {self.key.name}"


class CertificateFiles(ServingCertificate[bytes | None]):
    """Serves the certificate of the first paths that exist.

    The content is compared every ten seconds, so every way to change it works: overwriting, renaming, or the symbolic
    link that Kubernetes switches to another folder. A pair that cannot be read, does not match, is rejected by OpenSSL,
    has expired or is not valid yet never replaces a certificate that works. It is logged and tried again.

    Entering waits for a usable pair for at most `patience` seconds, then raises `CertificateError`. `purpose` names the
    server in messages.
    """

    def __init__(
        self,
        paths: Sequence[CertificatePaths],
        *,
        clock: Clock,
        every: float = 10.0,
        patience: float = 30.0,
        purpose: str = "webhook",
    ) -> None:
        super().__init__()
        self._paths = tuple(paths)
        self._purpose = purpose
        self._clock = clock
        self._every = every
        self._patience = patience
        self._validity: Validity | None = None
        self._problem = ""
        self.reads = 0
        """How many new pairs were read."""
        self.read_errors = 0
        """How many of the reads failed or found an unusable pair."""

    async def _start(self, stack: AsyncExitStack) -> None:
        deadline = self._clock.monotonic() + self._patience
        while not self._reload():
            if self._clock.monotonic() >= deadline:
                raise CertificateError(f"there is no {self._purpose} certificate: {self._problem}")
            await self._clock.sleep(_STARTUP_POLL)
        task = background(self._reload_periodically(), name=f"{self._purpose} certificate files")
        await stack.enter_async_context(task)

    async def _reload_periodically(self) -> None:
        while True:
            await self._clock.sleep(self._every)
            self._reload()

    def _reload(self) -> bool:
        """Reads the files and uses the pair if it is usable. Returns whether there is a pair, new or old."""
        try:
            paths = self._existing()
            pair = KeyPair(_read(paths.certificate), _read(paths.key))
            authorities = _read_if_there(paths.authorities)
            validity = self._validity
            if validity is None or pair != self.pair:
                validity = self._checked(paths, pair)
            self._serve(pair, expires=validity.ends, ca_bundle=authorities)
        except (OSError, Unusable) as error:
            self._failed(error)
        else:
            self._problem = ""
        return self._validity is not None

    def _existing(self) -> CertificatePaths:
        for paths in self._paths:
            if paths.certificate.exists():
                return paths
        raise Unusable(f"there is no {' and no '.join(str(paths.certificate) for paths in self._paths)}")

    def _checked(self, paths: CertificatePaths, pair: KeyPair) -> Validity:
        """Checks a new pair, and returns its validity."""
        self.reads += 1
        validity = Validity.of(check_pair(pair, str(paths.certificate), str(paths.key)))
        now = self._clock.now()
        if self._validity is not None and self._validity.covers(now) and not validity.covers(now):
            raise Unusable(f"{paths.certificate} {_when(validity, now)}")
        self._validity = validity
        logger.info("the %s certificate of %s is valid until %s", self._purpose, paths, validity.ends.isoformat())
        return validity

    def _failed(self, error: OSError | Unusable) -> None:
        self.read_errors += 1
        problem = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
        if problem != self._problem:
            kept = "keeping the old one" if self._validity is not None else "there is none yet"
            logger.warning("the %s certificate cannot be used: %s; %s", self._purpose, problem, kept)
        self._problem = problem


def _when(validity: Validity, now: datetime) -> str:
    if validity.has_begun(now):
        return f"expired at {validity.ends.isoformat()}"
    return f"is not valid before {validity.begins.isoformat()}"


def _read(path: Path) -> bytes:
    """Returns the content of a small regular file. Reading anything else could block or never end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise Unusable(f"{path} is not a regular file")
    with path.open("rb") as file:
        content = file.read(_MAX_FILE_BYTES + 1)
    if len(content) > _MAX_FILE_BYTES:
        raise Unusable(f"{path} is too large for a certificate: more than {_MAX_FILE_BYTES >> 20} MiB")
    return content


def _read_if_there(path: Path | None) -> bytes | None:
    try:
        return None if path is None else _read(path)
    except FileNotFoundError:
        return None
