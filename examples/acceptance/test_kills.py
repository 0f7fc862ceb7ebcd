"""Each operator is killed twenty times, at moments chosen by a seed, and converges to the same state."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from examples.acceptance.systems import ROOT, SYSTEMS, System, World
from kubewright.testing import ControlPlane, Exchange, Fault

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(600)]

KILLS = 20
Start = Callable[[System, dict[str, str]], Awaitable[int]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """A function that starts an operator process and returns its id."""
    paths = [str(ROOT / "examples" / system.name) for system in SYSTEMS]
    zygote = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name("zygote.py")),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    pids: list[int] = []

    async def begin(system: System, environment: dict[str, str]) -> int:
        assert zygote.stdin is not None
        assert zygote.stdout is not None
        asked = {"program": system.name, "environment": environment, "log": str(tmp_path / f"{system.name}.log")}
        zygote.stdin.write(json.dumps(asked).encode() + b"\n")
        pids.append(int(await zygote.stdout.readline()))
        return pids[-1]

    yield begin
    for pid in pids:
        kill(pid)
    zygote.kill()
    await zygote.wait()


def kill(pid: int) -> None:
    """Kills a process, if it still runs."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class Reaper:
    """Kills a process at one of its requests, before or after the server receives it."""

    def __init__(self, seed: str) -> None:
        self._rng = random.Random(seed)
        self._left = 0
        self._arrives = False
        self.pid = 0
        self.loop = asyncio.get_running_loop()
        self.struck = asyncio.Event()

    def prepare(self) -> None:
        """Chooses the next moment."""
        self._left, self._arrives = self._rng.randint(1, 14), self._rng.random() < 0.5
        self.pid = 0
        self.struck.clear()

    def __call__(self, exchange: Exchange) -> Fault:
        """Called by the gateway, in its thread, with each request."""
        self._left -= 1
        if self._left > 0 or not self.pid or self.struck.is_set():
            return None
        kill(self.pid)
        self.loop.call_soon_threadsafe(self.struck.set)
        return None if self._arrives else "reset"


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: str(system.name))
async def test_converges_when_killed_at_any_moment(
    system: System, world: World, control_plane: ControlPlane, start: Start
) -> None:
    gateway = await asyncio.to_thread(control_plane.gateway)
    gateway.fault = reaper = Reaper(f"kills of {system.name}")
    environment = system.environment(gateway.kubeconfig, world)
    for turn in range(KILLS):
        await system.ask(world, turn)
        reaper.prepare()
        reaper.pid = pid = await start(system, environment)
        waits = [asyncio.ensure_future(reaper.struck.wait()), asyncio.ensure_future(system.done(world, turn))]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
        kill(pid)  # also a process that finished before its moment
    gateway.fault = None
    await start(system, environment)
    await system.done(world, KILLS - 1)
    await asyncio.to_thread(gateway.close)
