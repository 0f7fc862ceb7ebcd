"""`CertificateFiles`: a certificate that somebody else writes to files, read again when they change."""

from __future__ import annotations

import asyncio
import logging
import stat
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from kubewright.certificates import KeyPair
from kubewright.clock import Clock
from kubewright.webhook.certificates._errors import CertificateError
from kubewright.webhook.certificates._pairs import Unusable, Validity, check_pair

__all__ = ["CertificateFiles", "Place"]

logger = logging.getLogger("kubewright.webhook")

_LARGEST: Final = 1 << 20
_FIRST_LOOKS: Final = 0.5


class Place(msgspec.Struct, frozen=True):
    """Where a certificate, its key, and perhaps its authorities are."""

    certificate: Path
    key: Path
    authorities: Path | None = None

    def __str__(self) -> str:
        return f"{self.certificate} and {self.key.name}"


class CertificateFiles:
    """Serves what is in the files of the first place that has any.

    The content is compared every ten seconds, so it does not matter how it changed: written over, renamed, or by the
    symbolic link that Kubernetes turns to another folder. What cannot be read, does not fit together, is refused
    by OpenSSL, has expired already or is not valid yet never takes the place of a certificate that works: it is logged,
    and looked at again.

    Entering waits for a usable pair, at most `patience` seconds, and raises `CertificateError`. `of` names the server
    that presents the certificate, for messages.
    """

    def __init__(
        self,
        places: Sequence[Place],
        *,
        clock: Clock,
        every: float = 10.0,
        patience: float = 30.0,
        of: str = "webhook",
    ) -> None:
        self._places = tuple(places)
        self._of = of
        self._clock = clock
        self._every = every
        self._patience = patience
        self._pair: KeyPair | None = None
        self._authorities: bytes | None = None
        self._validity: Validity | None = None
        self._complaint = ""
        self._task: asyncio.Task[None] | None = None
        self.reads = 0
        """How often a new pair was looked at."""
        self.read_errors = 0
        """How often it was of no use."""

    @property
    def pair(self) -> KeyPair:
        """The certificate that is served now, and its key."""
        if self._pair is None:
            raise RuntimeError("there is no certificate yet: use the source as `async with source`")
        return self._pair

    @property
    def ca_bundle(self) -> bytes | None:
        """What `ca.crt` holds; None where there is none."""
        return self._authorities

    @property
    def expires(self) -> datetime:
        """When the certificate ends."""
        if self._validity is None:
            raise RuntimeError("there is no certificate yet: use the source as `async with source`")
        return self._validity.ends

    async def __aenter__(self) -> Self:
        last = self._clock.monotonic() + self._patience
        while not self._look():
            if self._clock.monotonic() >= last:
                raise CertificateError(f"there is no {self._of} certificate: {self._complaint}")
            await self._clock.sleep(_FIRST_LOOKS)
        self._task = asyncio.create_task(self._keep(), name=f"{self._of} certificate files")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _keep(self) -> None:
        while True:
            await self._clock.sleep(self._every)
            self._look()

    def _look(self) -> bool:
        """Take what is in the files now, if it is of use. Whether there is a pair, this one or an older."""
        try:
            place = self._place()
            pair = KeyPair(_read(place.certificate), _read(place.key))
            authorities = _read_if_there(place.authorities)
            if pair != self._pair:
                self._take(place, pair)
            self._authorities = authorities
        except (OSError, Unusable) as error:
            self._complain(error)
        else:
            self._complaint = ""
        return self._pair is not None

    def _place(self) -> Place:
        for place in self._places:
            if place.certificate.exists():
                return place
        raise Unusable(f"there is no {' and no '.join(str(place.certificate) for place in self._places)}")

    def _take(self, place: Place, pair: KeyPair) -> None:
        self.reads += 1
        validity = Validity.of(check_pair(pair, str(place.certificate), str(place.key)))
        now = self._clock.now()
        if self._validity is not None and self._validity.covers(now) and not validity.covers(now):
            raise Unusable(f"{place.certificate} {_when(validity, now)}")
        self._pair, self._validity = pair, validity
        logger.info("the %s certificate of %s is valid until %s", self._of, place, validity.ends.isoformat())

    def _complain(self, error: OSError | Unusable) -> None:
        self.read_errors += 1
        complaint = (
            f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
        )
        if complaint != self._complaint:
            kept = "the old one stays" if self._pair is not None else "there is none yet"
            logger.warning("the %s certificate cannot be read: %s; %s", self._of, complaint, kept)
        self._complaint = complaint


def _when(validity: Validity, now: datetime) -> str:
    if validity.has_begun(now):
        return f"has expired at {validity.ends.isoformat()}"
    return f"is not valid before {validity.begins.isoformat()}"


def _read(path: Path) -> bytes:
    """The content of a file, which is small. What is no file could be without end, or wait for ever."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise Unusable(f"{path} is no file")
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise Unusable(f"{path} is larger than a certificate can be")
    return content


def _read_if_there(path: Path | None) -> bytes | None:
    try:
        return None if path is None else _read(path)
    except FileNotFoundError:
        return None
