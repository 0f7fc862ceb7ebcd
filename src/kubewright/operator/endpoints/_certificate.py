"""The certificate that metrics are served with: self-signed and in memory, or from files that are mounted."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import logging
import ssl
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from kubewright.clock import Clock
from kubewright.key_pair import KeyPair

if TYPE_CHECKING:
    from kubewright.webhook import CertificateSource

__all__ = ["SelfSignedCertificate", "certificate_for", "fingerprint_of", "issue", "issue_elsewhere"]

logger = logging.getLogger("kubewright.operator")

_LIFE: Final = timedelta(days=90)
_RENEWED_AFTER: Final = 2 / 3
_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
_SECONDS: Final = 60.0
_CHILD: Final = """
import base64, datetime, json, sys
asked = json.load(sys.stdin)
sys.path[:] = asked["path"]
from kubewright.certificates import CertificateAuthority
life, now = datetime.timedelta(seconds=asked["life"]), datetime.datetime.fromisoformat(asked["now"])
made = CertificateAuthority(asked["name"], now=now, life=life).issue(
    asked["name"], hosts=asked["hosts"], now=now, life=life
)
print(json.dumps([base64.b64encode(one).decode() for one in (made.certificate, made.key)]))
"""

Issue: TypeAlias = Callable[[str, datetime], Awaitable[KeyPair]]
"""Makes a self-signed certificate of a name, from a moment on."""


def certificate_for(folder: str | None, operator: str, clock: Clock) -> CertificateSource:
    """The certificate in a folder of `tls.crt` and `tls.key`, read again when it changes; or a self-signed one."""
    if folder is None:
        return SelfSignedCertificate(operator, clock)
    from kubewright.webhook.certificates import CertificateFiles, Place

    at = Path(folder)
    return CertificateFiles([Place(at / "tls.crt", at / "tls.key")], clock=clock, of="metrics")


def issue(name: str, now: datetime) -> KeyPair:
    """A new certificate for localhost, 127.0.0.1 and ::1, by which clients reach a pod through a forwarded port."""
    from kubewright.certificates import CertificateAuthority

    return CertificateAuthority(name, now=now, life=_LIFE).issue(name, hosts=_HOSTS, now=now, life=_LIFE)


async def issue_elsewhere(name: str, now: datetime) -> KeyPair:
    """The same, made in a short-lived process: `cryptography` would keep 13 MB of this one, for a call in two months.

    It is made in this process if another one cannot be started.
    """
    try:
        return await asyncio.to_thread(_ask_child, name, now)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        logger.debug("the metrics certificate is made in this process: %s", error)
        return issue(name, now)


def _ask_child(name: str, now: datetime) -> KeyPair:
    if getattr(sys, "frozen", False) or not sys.executable:
        raise ValueError("this program is not run by a Python interpreter")
    asked = {"path": sys.path, "name": name, "hosts": _HOSTS, "now": now.isoformat(), "life": _LIFE.total_seconds()}
    # Isolated, and without the `site` module: nothing but these lines runs there, whatever variables say.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", _CHILD],
        input=json.dumps(asked).encode(),
        capture_output=True,
        timeout=_SECONDS,
        check=True,
    )
    certificate, key = (base64.b64decode(one) for one in json.loads(done.stdout))
    return KeyPair(certificate, key)


class SelfSignedCertificate:
    """A certificate for one process, as controller-runtime makes it: encryption without a CA that clients could trust.

    The key is in memory alone. A new pair replaces it after two thirds of its 90 days. Each new fingerprint is logged,
    so that a client can verify the server by it.
    """

    ca_bundle: None = None

    def __init__(self, operator: str, clock: Clock, issue: Issue = issue_elsewhere) -> None:
        self._name = f"{operator}-metrics"
        self._clock = clock
        self._issue = issue
        self._pair: KeyPair | None = None
        self._made = clock.now()
        self._renewing: asyncio.Task[None] | None = None

    @property
    def pair(self) -> KeyPair:
        """The certificate and its key."""
        if self._pair is None:
            raise RuntimeError("there is no certificate yet: use the source as `async with source`")
        return self._pair

    @property
    def expires(self) -> datetime:
        """When the certificate ends."""
        return self._made + _LIFE

    async def __aenter__(self) -> Self:
        await self._renew()
        self._renewing = asyncio.create_task(self._keep(), name="renewal of the metrics certificate")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
            self._renewing = None

    async def _keep(self) -> None:
        while True:
            await self._clock.sleep((_LIFE * _RENEWED_AFTER).total_seconds())
            await self._renew()

    async def _renew(self) -> None:
        now = self._clock.now()
        with self._clock.hold("the process that makes the metrics certificate"):
            self._pair, self._made = await self._issue(self._name, now), now
        logger.info(
            "metrics are served with a self-signed certificate, SHA-256 fingerprint %s, until %s",
            fingerprint_of(self._pair.certificate),
            self.expires.isoformat(),
        )


def fingerprint_of(certificate: bytes) -> str:
    """The SHA-256 of a certificate, PEM, as hexadecimal digits."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate.decode("ascii"))).hexdigest()
