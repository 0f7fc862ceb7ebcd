"""Each operator runs as two replicas; when the leader is killed, the other one takes over."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from examples.acceptance.systems import SYSTEMS, System, World
from kubewright.operator import ExitCode
from kubewright.testing import ServiceAccount

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(600)]

LEASE = 6.0


class Replica:
    """A process that is restarted when it loses its lease, like a pod. A slow machine may cause that."""

    def __init__(self, system: System, environment: dict[str, str], log: Path) -> None:
        self._command = [sys.executable, "-m", "kubewright.cli", "run", str(system.program)]
        self._environment, self._log = environment, log
        self._process: asyncio.subprocess.Process | None = None
        self._task = asyncio.create_task(self._live())

    async def _live(self) -> None:
        code = int(ExitCode.LEASE_LOST)
        while code == ExitCode.LEASE_LOST:
            with self._log.open("a") as output:
                self._process = await asyncio.create_subprocess_exec(
                    *self._command, env=self._environment, stdout=output, stderr=output
                )
            code = await self._process.wait()

    async def says(self, text: str) -> None:
        """Waits until its log contains these words."""
        while text not in (self._log.read_text() if self._log.exists() else ""):
            assert not self._task.done(), self._log.read_text()
            await asyncio.sleep(0.05)

    async def kill(self) -> None:
        """Kills it, so that it does not release its lease."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        await self._task


@asynccontextmanager
async def replicas(system: System, environment: dict[str, str], logs: Path) -> AsyncIterator[tuple[Replica, Replica]]:
    first = Replica(system, environment, logs / f"{system.name}-1.log")
    await first.says("has started")
    second = Replica(system, environment, logs / f"{system.name}-2.log")
    try:
        await second.says("caches are in sync")
        yield first, second
    finally:
        await first.kill()
        await second.kill()


async def fail_over(system: System, world: World, account: ServiceAccount, logs: Path) -> None:
    settings = {
        "KUBEWRIGHT_LEADER_ELECT": "true",
        "KUBEWRIGHT_LEASE_NAMESPACE": account.namespace,
        "KUBEWRIGHT_LEASE_DURATION": f"{LEASE}s",
        "KUBEWRIGHT_RENEW_DEADLINE": f"{LEASE - 1.5}s",
        "KUBEWRIGHT_RETRY_PERIOD": "500ms",
    }
    async with replicas(system, system.environment(account.kubeconfig, world, **settings), logs) as (first, second):
        await system.ask(world, 0)
        await system.done(world, 0)
        await first.kill()
        await system.ask(world, 1)
        await second.says("has started")
        await system.done(world, 1)


async def test_second_replica_takes_over_from_a_killed_leader(
    world: World, account_of: Callable[[System], ServiceAccount], tmp_path: Path
) -> None:
    """All five at the same time, because most of the test waits for leases to expire."""
    await asyncio.gather(*(fail_over(system, world, account_of(system), tmp_path) for system in SYSTEMS))
