"""The certificate of secure metrics: self-signed and in memory, or from mounted files."""

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
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias

from kubewright.clock import Clock
from kubewright.key_pair import KeyPair
from kubewright.tasks import background
from kubewright.webhook import CertificateSource, ServingCertificate

__all__ = ["SelfSignedCertificate", "certificate_for", "fingerprint_of", "issue", "issue_in_child"]

logger = logging.getLogger("kubewright.operator")

_LIFE: Final = timedelta(days=90)
_RENEWED_AFTER: Final = 2 / 3
_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
_SECONDS: Final = 60.0
_CHILD: Final = """
import base64, datetime, json, sys
order = json.load(sys.stdin)
sys.path[:] = order["path"]
from kubewright.certificates import CertificateAuthority
life, now = datetime.timedelta(seconds=order["life"]), datetime.datetime.fromisoformat(order["now"])
made = CertificateAuthority(order["name"], now=now, life=life).issue(
    order["name"], hosts=order["hosts"], now=now, life=life
)
print(json.dumps([base64.b64encode(one).decode() for one in (made.certificate, made.key)]))
"""

Issue: TypeAlias = Callable[[str, datetime], Awaitable[KeyPair]]
"""Issues a self-signed certificate for a name, valid from a time."""


def certificate_for(folder: str | None, operator: str, clock: Clock) -> CertificateSource:
    """Returns the certificate in a folder of `tls.crt` and `tls.key`, reloaded on change; or a self-signed one."""
    if folder is None:
        return SelfSignedCertificate(operator, clock)
    from kubewright.webhook.certificates import CertificateFiles, CertificatePaths

    at = Path(folder)
    return CertificateFiles([CertificatePaths(at / "tls.crt", at / "tls.key")], clock=clock, purpose="metrics")


def issue(name: str, now: datetime) -> KeyPair:
    """Issues a certificate for localhost, 127.0.0.1 and ::1, which clients use through a forwarded port."""
    from kubewright.certificates import CertificateAuthority

    return CertificateAuthority(name, now=now, life=_LIFE).issue(name, hosts=_HOSTS, now=now, life=_LIFE)


async def issue_in_child(name: str, now: datetime) -> KeyPair:
    """Issues the certificate in a short-lived child process: importing `cryptography` here would keep 13 MB in use.

    Falls back to this process if the child process fails.
    """
    try:
        return await asyncio.to_thread(_ask_child, name, now)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        logger.debug("issuing the metrics certificate in this process: %s", error)
        return issue(name, now)


def _ask_child(name: str, now: datetime) -> KeyPair:
    if getattr(sys, "frozen", False) or not sys.executable:
        raise ValueError("there is no Python interpreter to start")
    order = {"path": sys.path, "name": name, "hosts": _HOSTS, "now": now.isoformat(), "life": _LIFE.total_seconds()}
    # Isolated and without the `site` module, so that environment variables cannot run other code there.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", _CHILD],
        input=json.dumps(order).encode(),
        capture_output=True,
        timeout=_SECONDS,
        check=True,
    )
    certificate, key = (base64.b64decode(one) for one in json.loads(done.stdout))
    return KeyPair(certificate, key)


class SelfSignedCertificate(ServingCertificate[None]):
    """A certificate for one process, as controller-runtime has it: encryption without a CA that clients can trust.

    The key stays in memory. It is replaced after two thirds of its 90 days. Each new fingerprint is logged, so that a
    client can verify the server.
    """

    def __init__(self, operator: str, clock: Clock, issue: Issue = issue_in_child) -> None:
        super().__init__()
        self._name = f"{operator}-metrics"
        self._clock = clock
        self._issue = issue

    async def _start(self, stack: AsyncExitStack) -> None:
        await self._renew()
        task = background(self._renew_periodically(), name="renewal of the metrics certificate")
        await stack.enter_async_context(task)

    async def _renew_periodically(self) -> None:
        while True:
            await self._clock.sleep((_LIFE * _RENEWED_AFTER).total_seconds())
            await self._renew()

    async def _renew(self) -> None:
        now = self._clock.now()
        with self._clock.hold("the process that issues the metrics certificate"):
            self._serve(await self._issue(self._name, now), expires=now + _LIFE, ca_bundle=None)
        logger.info(
            "serving metrics with a self-signed certificate, SHA-256 fingerprint %s, until %s",
            fingerprint_of(self.pair.certificate),
            self.expires.isoformat(),
        )


def fingerprint_of(certificate: bytes) -> str:
    """Returns the SHA-256 fingerprint of a PEM certificate in hexadecimal."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate.decode("ascii"))).hexdigest()
