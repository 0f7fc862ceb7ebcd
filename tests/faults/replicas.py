"""Replicas of the toys' operator as processes, from the outside: to start, kill and pause them, and to hear of them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from kubewright.operator import ExitCode
from kubewright.testing import ControlPlane, Gateway, ServiceAccount
from tests.patience import PATIENCE, until

PROGRAM = Path(__file__).with_name("replica.py")
REPOSITORY = Path(__file__).parents[2]
LEASE = 10.0
"""The duration of a lease in these tests, in seconds. Tests wait for it, and a machine may be frozen for most of it."""


_AT_ONCE = 20
"""As many checks as the reconciles that run at a time make, two for each request."""


def _name_of(path: str) -> str:
    """The object's name in a path."""
    return path.removesuffix("/status").rpartition("/")[2]


class Replica:
    """One process. It reaches the server through a gateway of its own, which notes what it asks for."""

    def __init__(self, name: str, gateway: Gateway, log: Path, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self.gateway = gateway
        self.log = log
        self.process = process
        self.reports: list[list[Any]] = []
        self.remembers = True
        """Whether reports of its work are kept; its answers always are."""
        self.on_report: Callable[[Replica, list[Any]], None] = lambda replica, words: None
        self._hearing = asyncio.create_task(self._hear())

    async def _hear(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            words = json.loads(line)
            if self.remembers or words[0] not in ("begin", "done", "failed", "let through"):
                self.reports.append(words)
            self.on_report(self, words)

    async def ready(self) -> None:
        """Wait until its caches are in sync."""
        await until(
            lambda: ["ready"] in self.reports or self.process.returncode is not None, f"{self.name} to be ready"
        )
        assert self.process.returncode is None, self.log.read_text()

    async def ask(self, command: str) -> list[Any]:
        """What it answers to a line of its standard input."""
        heard = len(self.reports)
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n".encode())

        def answers() -> list[list[Any]]:
            return [words for words in self.reports[heard:] if words[0] == command]

        await until(lambda: bool(answers()), f"an answer of {self.name} to {command}")
        return answers()[0][1:]

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def wake_too_late(self) -> list[str]:
        """Let it go on after its lease, until its end. The answer is what it wrote, which must be nothing.

        What counts is what its fence lets through when it is asked after the pause. A request about which it was asked
        before may leave the process now, as it might have been held up in the network.
        """
        sent, woken = len(self.gateway.exchanges), time.clock_gettime(time.CLOCK_BOOTTIME)
        self.signal(signal.SIGCONT)
        code = await self.end()
        assert code == ExitCode.LEASE_LOST, self.log.read_text()
        allowed = [(words[1], words[2]) for words in self.reports if words[0] == "let through"]
        after = [what for what, asked in allowed if asked >= woken]
        before = [what for what, asked in allowed if asked < woken][-_AT_ONCE:]
        arrived = [seen for seen in self.gateway.exchanges[sent:] if seen.writes]
        # A renewal that was on its way is for a version of the Lease that is no more: the server refuses it.
        strange = [seen.path for seen in arrived if "/leases/" not in seen.path or seen.status < 400]
        return [*after, *(path for path in strange if not any(_name_of(path) in what for what in before))]

    async def end(self) -> int:
        """Wait for its end and for its last words. The answer is its exit code."""
        async with asyncio.timeout(PATIENCE):
            code = await self.process.wait()
            await self._hearing
        return code


@asynccontextmanager
async def replicas(
    plane: ControlPlane, namespace: str, logs: Path, *, account: ServiceAccount | None = None, elect: bool = True
) -> AsyncIterator[Callable[..., Any]]:
    """A function that starts one more replica, as an account or as the admin; all of them are gone in the end.

    What it writes into children is its own name, unless another word is given.
    """
    stack = AsyncExitStack()

    async def start(name: str, word: str | None = None) -> Replica:
        gateway = await asyncio.to_thread(plane.gateway)
        log = logs / f"{name}.log"
        with log.open("w") as stderr:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "kubewright.cli", "run", str(PROGRAM)),
                cwd=REPOSITORY,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join((str(REPOSITORY), os.environ.get("PYTHONPATH", ""))),
                    "KUBECONFIG": str(gateway.kubeconfig if account is None else account.through(gateway)),
                    "TOYS_NAMESPACE": namespace,
                    "TOYS_WORD": word or name,
                    "KUBEWRIGHT_LEADER_ELECT": str(elect).lower(),
                    "KUBEWRIGHT_LEASE_NAMESPACE": namespace,
                    "KUBEWRIGHT_LEASE_DURATION": f"{LEASE}s",
                    "KUBEWRIGHT_RENEW_DEADLINE": f"{LEASE - 1.5}s",
                    "KUBEWRIGHT_RETRY_PERIOD": "500ms",
                },
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                limit=1 << 24,
            )
        replica = Replica(name, gateway, log, process)
        stack.push_async_callback(_end, replica)
        return replica

    async with stack:
        yield start


async def _end(replica: Replica) -> None:
    if replica.process.returncode is None:
        replica.process.kill()
    await replica.end()
    await asyncio.to_thread(replica.gateway.close)
