"""What an operator reports about its certificate: its expiry, and that it is not ready without a valid one."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

import kubewright as kw
from kubewright.api import core
from kubewright.certificates import CertificateAuthority
from kubewright.clock import SystemClock
from kubewright.cluster import Cluster
from kubewright.operator import ExitCode
from kubewright.operator.process import report_failure
from kubewright.webhook.certificates import CERTIFICATE_SOURCES, CertificateError, source_for
from tests.webhook.certificates.authorities import served


def operator(folder: Path) -> kw.Operator:
    made = kw.Operator(
        "reporter",
        webhook_certificates="files",
        webhook_folder=folder,
        webhook_bind="127.0.0.1:0",
        health_bind="127.0.0.1:0",
    )

    @made.validates(core.ConfigMap)
    def check(config: core.ConfigMap) -> None: ...

    return made


async def readiness(running: kw.Running) -> tuple[int, str]:
    """What `/readyz` answers, with each check."""
    port = running.servers[0].port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /readyz?verbose HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    return int(answer.split()[1]), answer


@pytest.mark.promise(
    "The certificate of the webhooks",
    "An expired certificate shows in metrics, and makes a replica unready.",
)
@pytest.mark.parametrize(("days", "status"), [(90, 200), (-1, 500)])
async def test_expiry_shows_in_metrics_and_readiness(days: float, status: int, tmp_path: Path) -> None:
    authority = CertificateAuthority("reporter")
    now = SystemClock().now() - timedelta(days=10)
    authority.issue("reporter", hosts=["localhost"], now=now, life=timedelta(days=10 + days)).write(tmp_path, "tls")
    made = operator(tmp_path)
    async with Cluster() as cluster, cluster.client() as client, made.running(client, install_crds=False) as running:
        assert running.webhooks.server is not None
        expires = running.webhooks.server.certificate.expires
        _, text = made.metrics.render()
        name = b"kubewright_webhook_certificate_expiration_timestamp_seconds"
        (line,) = [one for one in text.splitlines() if one.startswith(name)]
        assert float(line.split()[1]) == expires.timestamp()
        found, page = await readiness(running)
        assert found == status, page
        assert ("the webhook certificate expired at" in page) == (days < 0)


def test_start_without_certificate_logs_one_line() -> None:
    assert report_failure(CertificateError("there is none")) is ExitCode.NOT_READY


async def test_the_setting_chooses_the_source(tmp_path: Path) -> None:
    async with Cluster() as cluster, cluster.client() as client:
        made = {way: type(source_for(way, served(client, SystemClock()))).__name__ for way in CERTIFICATE_SOURCES}
        assert made == {
            "self-managed": "SelfManaged",
            "cert-manager": "CertificateFiles",
            "olm": "CertificateFiles",
            "files": "CertificateFiles",
        }
        with pytest.raises(ValueError, match="one of self-managed, cert-manager, olm, files, not 'magic'"):
            source_for("magic", served(client, SystemClock()))
