"""Runs a server in a child process with bounded memory and CPU time, attacks it, and checks that it survives.

A regression fails a test. It does not take the machine down, because the child has an address space and a CPU time
that the kernel limits. The attacks run in the test process, to loopback only.

The checks count memory and CPU time, which do not depend on the load of the machine:

- The child is alive, and answers a probe during and after the attack.
- The peak of its resident memory grows by less than `GROWTH` bytes.
- No callback of its event loop takes more than `BLOCK` seconds of CPU time.

`make attacks` sets `KUBEWRIGHT_ATTACKS=100`: each attack then runs 100 times at the same time. The sum of 100 attacks
may need more memory than one; the limits of the address space and of probes and leases still hold.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

from tests.patience import PATIENCE

__all__ = ["BLOCK", "COPIES", "GROWTH", "Victim", "assault", "many_files", "running", "stand"]

MIB: Final = 2**20
GROWTH: Final = 64 * MIB
"""The largest growth of resident memory during one attack."""
BLOCK: Final = 1.0
"""The longest block of an event loop, in seconds of CPU time, which the load of the machine does not change."""
COPIES: Final = int(os.environ.get("KUBEWRIGHT_ATTACKS", "1"))
"""How many times each attack runs at the same time."""
ADDRESS_SPACE: Final = 4096 * MIB
CPU_SECONDS: Final = 40 if COPIES == 1 else 1200
ROOT: Final = Path(__file__).parents[2]

Attack: TypeAlias = Callable[[], Awaitable[object]]
Probe: TypeAlias = Callable[[], Awaitable[object]]


def many_files() -> None:
    """Raises the limit of open files of this process: attacks open many connections."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Victim:
    """A child process that is attacked. `facts` is what it reported when it was ready: ports, files, tokens."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self.facts: dict[str, Any] = {}
        self._process = process
        self._log = log
        self._asking = asyncio.Lock()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def why(self) -> str:
        """The exit code and the end of the child's log, for the message of an assertion."""
        return f"exit code {self._process.returncode}; its log ends:\n{self._log.read_text(errors='replace')[-4000:]}"

    async def maybe_ended(self) -> None:
        """Gives a process that has just been killed the time to be reaped, so that `why` knows its exit code."""
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._process.wait()), 2.0)

    async def outlives(self, attacks: asyncio.Future[Any]) -> None:
        """Waits for the end of the attacks. Fails immediately when the process ends before."""
        ended = asyncio.ensure_future(self._process.wait())
        try:
            await asyncio.wait([attacks, ended], return_when=asyncio.FIRST_COMPLETED)
            assert not ended.done(), self.why()
            await attacks
        finally:
            ended.cancel()
            attacks.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await attacks

    def resident(self, line: str = "VmRSS") -> int:
        """Resident memory in bytes: now, or the peak (`VmHWM`) since `reset_peak`."""
        assert self.alive, self.why()
        for found in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if found.startswith(f"{line}:"):
                return int(found.split()[1]) * 1024
        raise AssertionError(f"process {self.pid} has no memory: {self.why()}")

    def reset_peak(self) -> None:
        """Begins to measure the peak of resident memory."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def connections(self) -> int:
        """How many sockets it has open."""
        found = 0
        for file in Path(f"/proc/{self.pid}/fd").iterdir():
            with suppress(OSError):
                found += os.readlink(file).startswith("socket:")
        return found

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.returncode is None

    async def ask(self, **question: Any) -> dict[str, Any]:
        """Sends the child a line of JSON, and returns the line that it answers."""
        assert self._process.stdin is not None
        async with self._asking, asyncio.timeout(PATIENCE):
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            return await self.answer()

    async def answer(self) -> dict[str, Any]:
        """The next line that the child writes."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            await self._process.wait()
            raise AssertionError(f"the attacked process ended: {self.why()}")
        found: dict[str, Any] = json.loads(line)
        return found

    async def longest_block(self) -> float:
        """The longest time, in seconds of CPU time, in which the child's event loop ran nothing else."""
        return float((await self.ask(ask="heartbeat"))["longest"])

    async def stop(self) -> None:
        """Ends the child."""
        if self.alive:
            self._process.kill()
        await self._process.wait()


@asynccontextmanager
async def running(kind: str, *arguments: str) -> AsyncIterator[Victim]:
    """Starts a child from `tests/attacks/victim.py`, and ends it."""
    many_files()
    environment = {
        **os.environ,
        "MALLOC_ARENA_MAX": "2",  # each arena reserves address space, which is limited
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
    }
    with tempfile.TemporaryDirectory(prefix="attacks-") as folder:
        log = Path(folder) / "log"
        with log.open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tests.attacks.victim", kind, str(ADDRESS_SPACE), str(CPU_SECONDS), *arguments,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=stderr, env=environment, cwd=ROOT,
            )  # fmt: skip
        victim = Victim(process, log)
        try:
            async with asyncio.timeout(PATIENCE):
                victim.facts = await victim.answer()
            yield victim
        finally:
            await victim.stop()


async def assault(victim: Victim, attack: Attack, probe: Probe, *, growth: int = GROWTH, block: float = BLOCK) -> None:
    """Attacks a child, `COPIES` times at the same time, and asserts that it survives. See the module's contract."""
    await probe()
    before = victim.resident()
    victim.reset_peak()
    async with stand(victim, probe), asyncio.timeout(PATIENCE if COPIES == 1 else PATIENCE * 5):
        attacks = asyncio.gather(*(attack() for _ in range(COPIES)))
        await victim.outlives(attacks)
    await probe()
    longest = await victim.longest_block()
    if COPIES == 1:
        grown = victim.resident("VmHWM") - before
        assert grown < growth, f"memory grew by {grown / MIB:.0f} MiB, from {before / MIB:.0f} MiB"
        assert longest < block, f"one callback of the event loop took {longest:.1f} s of CPU time"
    assert victim.alive, victim.why()


@asynccontextmanager
async def stand(victim: Victim, probe: Probe) -> AsyncIterator[None]:
    """Probes a child again and again during the block. Fails when a probe does."""

    async def probing() -> None:
        while True:
            await probe()
            await asyncio.sleep(0.2)  # real: how often, and not how long something takes

    task = asyncio.create_task(probing())
    try:
        yield
        if task.done():
            task.result()
    except (OSError, AssertionError, TimeoutError) as error:
        await victim.maybe_ended()
        raise AssertionError(f"{error}; {victim.why()}") from error
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task
