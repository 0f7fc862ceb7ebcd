"""The network controller as a program: flags and signals."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from examples.acceptance.systems import SYSTEMS, World
from kubewright.operator import ExitCode
from kubewright.testing import ControlPlane

pytestmark = pytest.mark.control_plane

NETWORK = next(system for system in SYSTEMS if system.name == "network")


@pytest.fixture
async def program(
    world: World, control_plane: ControlPlane, tmp_path: Path
) -> AsyncIterator[asyncio.subprocess.Process]:
    """`python network.py --kubeconfig FILE --master URL`, with its caches in sync."""
    # --master takes precedence: the kubeconfig names a server that does not exist.
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(control_plane.kubeconfig.read_text().replace(control_plane.url, "https://127.0.0.1:1"))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(NETWORK.program), "--kubeconfig", str(kubeconfig), "--master", control_plane.url),
        env=NETWORK.environment(kubeconfig, world, KUBEWRIGHT_LOG_FORMAT="json"),
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    async for line in process.stderr:
        if b"has started" in line:
            break
    drain = asyncio.create_task(process.stderr.read())
    yield process
    if process.returncode is None:
        process.kill()
    await process.wait()
    await drain


async def asked(world: World) -> None:
    """A Network whose reconcile waits for Neutron."""
    world.neutron.open.clear()
    await NETWORK.ask(world, 0)
    while not world.neutron.requests:  # noqa: ASYNC110
        await asyncio.sleep(0.02)


async def test_first_signal_lets_running_reconciles_finish(program: asyncio.subprocess.Process, world: World) -> None:
    await asked(world)
    program.send_signal(signal.SIGTERM)
    world.neutron.open.set()
    assert await program.wait() == ExitCode.STOPPED
    await NETWORK.done(world, 0)  # completely, including the status, although the signal came during the reconcile


async def test_second_signal_stops_immediately(program: asyncio.subprocess.Process, world: World) -> None:
    await asked(world)
    program.send_signal(signal.SIGINT)
    program.send_signal(signal.SIGTERM)
    assert await program.wait() == ExitCode.INTERRUPTED
    world.neutron.open.set()
    assert not world.neutron.networks
