"""The streams of a pod through both API servers, with the real kubectl."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import struct
import termios
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from kubewright.cluster import Cluster
from kubewright.testing.binaries import setup_binaries
from tests.kubelet.conftest import Processes, echo_server
from tests.patience import PATIENCE

# kubectl is built together with the control plane, also for the embedded cluster.
pytestmark = [pytest.mark.clusters, pytest.mark.control_plane]

Start: TypeAlias = Callable[..., Awaitable[asyncio.subprocess.Process]]


@pytest.fixture
async def start(cluster: Cluster, namespace: str) -> Start:
    """Starts kubectl with these arguments."""
    await cluster.serve()
    kubeconfig = cluster.kubeconfig()

    async def run(*arguments: str, terminal: int = asyncio.subprocess.PIPE) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            str(setup_binaries() / "kubectl"),
            f"--kubeconfig={kubeconfig}",
            f"--namespace={namespace}",
            *arguments,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
        )

    return run


async def ended(process: asyncio.subprocess.Process, stdin: bytes = b"") -> tuple[int, str, str]:
    async with asyncio.timeout(PATIENCE):
        output, errors = await process.communicate(stdin)
    assert process.returncode is not None
    return process.returncode, output.decode(), errors.decode()


async def test_exec(start: Start, processes: Processes) -> None:
    code, output, errors = await ended(await start("exec", "-i", "web", "--", "sh", "-c", "cat; exit 7"), b"typed")
    assert (code, output) == (7, "typed")
    assert "exit code 7" in errors


async def test_exec_in_a_terminal(start: Start, processes: Processes) -> None:
    near, far = os.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 111, 0, 0))
    try:
        # kubectl sends the size after the start of the command.
        script = 'tty; while [ "$(stty size)" = "0 0" ]; do sleep 0.02; done; stty size; exit 4'
        kubectl = await start("exec", "-it", "web", "--", "sh", "-c", script, terminal=far)
        async with asyncio.timeout(PATIENCE):
            assert await kubectl.wait() == 4
        os.set_blocking(near, False)
        output = b""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(near, 65536):
                output += data
    finally:
        os.close(near)
        os.close(far)
    assert b"/dev/pts/" in output
    assert b"33 111" in output


async def test_attach(start: Start, processes: Processes) -> None:
    code, output, _ = await ended(await start("attach", "-i", "web"), b"typed")
    assert (code, output) == (0, "attached\ntyped")


async def test_logs(start: Start, processes: Processes) -> None:
    processes.log.write("stdout", b"one\ntwo\n")
    assert (await ended(await start("logs", "web")))[:2] == (0, "one\ntwo\n")
    assert (await ended(await start("logs", "web", "--tail=1")))[:2] == (0, "two\n")
    code, _, errors = await ended(await start("logs", "web", "--previous"))
    assert code == 1
    assert 'previous terminated container "app" in pod "web" not found' in errors


async def test_followed_logs(start: Start, processes: Processes) -> None:
    processes.log.write("stdout", b"before\n")
    following = await start("logs", "-f", "web")
    assert following.stdout is not None
    async with asyncio.timeout(PATIENCE):
        assert await following.stdout.readline() == b"before\n"
        processes.log.write("stdout", b"after\n")
        assert await following.stdout.readline() == b"after\n"
    processes.log.close()
    assert (await ended(following))[0] == 0


async def test_cp(start: Start, processes: Processes, tmp_path: Path) -> None:
    sent, received, returned = (tmp_path / name for name in ("sent", "received", "returned"))
    sent.write_text("content")
    assert (await ended(await start("cp", str(sent), "web:received")))[0] == 0
    assert received.read_text() == "content"
    assert (await ended(await start("cp", "web:received", str(returned))))[0] == 0
    assert returned.read_text() == "content"


async def test_port_forward(start: Start, processes: Processes) -> None:
    async with echo_server() as port:
        forwarding = await start("port-forward", "web", f":{port}")
        assert forwarding.stdout is not None
        try:
            async with asyncio.timeout(PATIENCE):
                line = (await forwarding.stdout.readline()).decode()
                local = int(line.split(" -> ")[0].rpartition(":")[2])
                for number in range(3):
                    reader, writer = await asyncio.open_connection("127.0.0.1", local)
                    writer.write(f"number {number}".encode())
                    writer.write_eof()
                    assert await reader.read() == f"{number} rebmun".encode()
                    writer.close()
        finally:
            forwarding.terminate()
            await forwarding.communicate()
