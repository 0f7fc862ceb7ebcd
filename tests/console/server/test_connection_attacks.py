"""Many hostile connections to a console in its own process, and their memory."""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from kubewright.certificates import CertificateAuthority
from tests.patience import PATIENCE

SERVER = Path(__file__).with_name("attacked_server.py")
TIMES = 600
GROWTH_MB = 64
SILENT = b""
HALF_A_HEADER = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 16_000
MANY_HEADERS = b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * 99
HALF_A_BODY = (
    b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nContent-Length: 60000\r\n\r\n"
    + b"x" * 50_000
)
NEVER_READS = b"GET /sign-in HTTP/1.1\r\nHost: localhost\r\n\r\n" * 8
HALF_A_HANDSHAKE = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"


@asynccontextmanager
async def served(*args: Path) -> AsyncIterator[tuple[str, int]]:
    """The URL of the server, and its process ID."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, SERVER, *args, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE):
            url = (await process.stdout.readline()).decode().strip()
        yield url, process.pid
    finally:
        await process.communicate(b"")
    assert process.returncode == 0


def memory_mb(pid: int) -> float:
    found = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(found["VmHWM"].split()[0]) / 1024  # the peak


async def attack(url: str, pid: int, sent: bytes, trusting: ssl.SSLContext | None = None) -> None:
    where = ("127.0.0.1", int(url.rpartition(":")[2]))
    with ExitStack() as stack:
        async with aiohttp.ClientSession(url) as http:

            async def probe() -> None:
                async with asyncio.timeout(PATIENCE), http.get("/healthz", ssl=trusting or False) as answer:
                    assert answer.status == 200
                    assert await answer.text() == "ok\n"

            await probe()
            before = memory_mb(pid)
            for number in range(TIMES):
                made = stack.enter_context(socket.socket())
                made.setblocking(False)
                await asyncio.get_running_loop().sock_connect(made, where)
                if sent:
                    made.send(sent)
                if number % 100 == 0:
                    await probe()
            await probe()
            grown = memory_mb(pid) - before
    assert grown < GROWTH_MB, f"{grown:.0f} MB more"


@pytest.mark.promise(
    "Access to the console and its cost",
    "600 hostile connections take less than 64 MB, and probes are still answered.",
)
async def test_bounds_memory_and_answers_probes_under_hostile_connections() -> None:
    async with served() as (url, pid):
        for sent in (SILENT, HALF_A_HEADER, MANY_HEADERS, HALF_A_BODY, NEVER_READS):
            await attack(url, pid, sent)


@pytest.mark.promise(
    "Access to the console and its cost",
    "600 hostile connections take less than 64 MB, and probes are still answered.",
)
async def test_bounds_memory_under_hostile_tls_handshakes(tmp_path: Path) -> None:
    authority = CertificateAuthority("tests")
    certificate, key = authority.issue("console", hosts=["127.0.0.1"]).write(tmp_path, "tls")
    trusting = ssl.create_default_context(cadata=authority.pair.certificate.decode())
    async with served(certificate, key) as (url, pid):
        for sent in (SILENT, HALF_A_HANDSHAKE):
            await attack(url, pid, sent, trusting)
