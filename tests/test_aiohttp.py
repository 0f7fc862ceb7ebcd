"""aiohttp is imported without the system's certificates, and whoever needs them finds them."""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from kubewright._certificates import CertificateAuthority

PROGRAM = """
import asyncio, ssl, sys
from kubewright._aiohttp import roots_on_first_use

with roots_on_first_use():
    import aiohttp

async def main():
    async with aiohttp.ClientSession() as session, session.get(sys.argv[1]) as response:
        print(response.status)

def read():
    contexts = aiohttp.connector._SSL_CONTEXT_VERIFIED, aiohttp.connector._SSL_CONTEXT_UNVERIFIED
    return [type(context) is ssl.SSLContext for context in contexts]

print("read at the start:", *read())
asyncio.run(main())
print("read in the end:", *read())
print(aiohttp.connector._SSL_CONTEXT_UNVERIFIED.cert_store_stats()["x509_ca"])
"""


@pytest.fixture
async def elsewhere(tmp_path: Path) -> AsyncIterator[str]:
    """The URL of a server that is no API server. Its CA is in `ca.crt`."""
    authority = CertificateAuthority("authority")
    authority.pair.write(tmp_path, "ca")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.issue("elsewhere", hosts=("127.0.0.1",)).write(tmp_path, "server"))

    async def answer(request: web.BaseRequest) -> web.Response:
        return web.Response(status=204)

    runner = web.ServerRunner(web.Server(answer, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    yield f"https://127.0.0.1:{runner.addresses[0][1]}/"
    await runner.cleanup()


async def printed_by(url: str, roots: Path) -> tuple[str, str]:
    environment = {"SSL_CERT_FILE": str(roots), "SSL_CERT_DIR": str(roots.parent / "none")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, url),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    return output.decode(), errors.decode()


async def test_the_systems_certificates_are_read_when_they_are_needed(elsewhere: str, tmp_path: Path) -> None:
    output, errors = await printed_by(elsewhere, tmp_path / "ca.crt")
    assert output.splitlines() == ["read at the start: False False", "204", "read in the end: True False", "1"], errors


async def test_a_server_that_the_system_does_not_trust_is_still_refused(elsewhere: str, tmp_path: Path) -> None:
    CertificateAuthority("another").pair.write(tmp_path, "another")
    output, errors = await printed_by(elsewhere, tmp_path / "another.crt")
    assert output.splitlines() == ["read at the start: False False"]
    assert "certificate verify failed" in errors
