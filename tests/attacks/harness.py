"""Runs a server in a child process with bounded memory and CPU time, attacks it, and checks that it survives.

A regression fails a test. It does not take the machine down, because the child has an address space and a CPU time
that the kernel limits. The attacks run in the test process, to loopback only.

The checks do not depend on the load of the machine:

- The child is alive. Another process probes it during and after the attack: pages answer within `probing.PAGE` seconds
  and leases are renewed within `probing.RENEWAL` seconds, without the time in which the processes had no CPU.
- The peak of its resident memory grows by less than `GROWTH` bytes, also in several attacks on one child.
- No callback of its event loop takes more than `BLOCK` seconds of CPU time.

`make attacks` sets `KUBEWRIGHT_ATTACKS=100`: each attack then runs 100 times at the same time. The sum of 100 attacks
may need more memory than one; the limits of the address space and of probes and leases still hold.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

from tests.attacks.children import COPIES, CPU_SECONDS, Child, fork
from tests.attacks.prober import Target
from tests.attacks.probing import Probing, probing
from tests.patience import PATIENCE

__all__ = ["BLOCK", "COPIES", "GROWTH", "Victim", "assault", "many_files", "running"]

MIB: Final = 2**20
GROWTH: Final = 64 * MIB
"""The largest growth of resident memory since the first attack began."""
BLOCK: Final = 1.0
"""The longest block of an event loop, in seconds of CPU time, which the load of the machine does not change."""

Attack: TypeAlias = Callable[[], Awaitable[object]]


def many_files() -> None:
    """Raises the limit of open files of this process: attacks open many connections."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Victim:
    """A child process that is attacked. `facts` is what it reported when it was ready: ports, files, tokens."""

    def __init__(self, process: Child, log: Path) -> None:
        self.facts: dict[str, Any] = {}
        self.probe: Target = {}
        """How it is probed."""
        self.probes: Probing | None = None
        """The probes of the attack that runs."""
        self.closed = 0
        """Connections that it closed without an answer, as its clients counted them."""
        self.is_sound = True
        """Whether it has survived all its attacks. Any other one serves no further test."""
        self.fresh = 0
        """Resident memory in bytes before the first attack."""
        self._process = process
        self._log = log
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._listening: asyncio.Task[None] | None = None

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
            await asyncio.wait_for(asyncio.shield(self._process.wait()), 2.0)  # real: for a message

    async def outlives(self, attacks: asyncio.Future[Any]) -> None:
        """Waits for the end of the attacks. Fails immediately when the process ends before, or a probe fails."""
        assert self.probes is not None
        ended = asyncio.ensure_future(self._process.wait())
        failed = self.probes.failed
        try:
            await asyncio.wait([attacks, ended, failed], return_when=asyncio.FIRST_COMPLETED)
            assert not ended.done(), self.why()
            if failed.done():
                failed.result()
            await attacks
        except (OSError, AssertionError, TimeoutError) as error:
            await self.maybe_ended()
            raise AssertionError(f"{error}; {self.why()}") from error
        finally:
            ended.cancel()
            attacks.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await attacks

    async def probed(self, times: int) -> None:
        """Waits until it has been probed so many times more, from outside of this process."""
        assert self.probes is not None
        await self.probes.more(times)

    def resident(self, line: str = "VmRSS") -> int:
        """Resident memory in bytes: now, or the peak (`VmHWM`) since `reset_peak`."""
        assert self.alive, self.why()
        for found in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if found.startswith(f"{line}:"):
                return int(found.split()[1]) * 1024
        raise AssertionError(f"process {self.pid} has no memory: {self.why()}")

    def prepare(self) -> None:
        """Begins to measure the peak of resident memory, and limits the CPU time of one attack."""
        self.fresh = self.fresh or self.resident()
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")
        user, system = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        used = (int(user) + int(system)) // os.sysconf("SC_CLK_TCK")
        resource.prlimit(self.pid, resource.RLIMIT_CPU, (used + CPU_SECONDS, resource.RLIM_INFINITY))

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

    async def begin(self) -> None:
        """Waits until the child is ready, and listens to its answers."""
        async with asyncio.timeout(PATIENCE):
            self.facts = await self._line()
        self._listening = asyncio.create_task(self._listen())

    async def ask(self, **question: Any) -> dict[str, Any]:
        """Sends the child a line of JSON, and returns the line that it answers. Several questions may be open."""
        number = len(self._answers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        self._process.stdin.write(json.dumps({**question, "number": number}).encode() + b"\n")
        async with asyncio.timeout(PATIENCE if COPIES == 1 else PATIENCE * 5):
            found = await self._answers[number]
        assert "raised" not in found, found["raised"]
        return found

    async def _listen(self) -> None:
        try:
            while True:
                found = await self._line()
                self._answers[found["number"]].set_result(found)
        except AssertionError as error:
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(error)

    async def _line(self) -> dict[str, Any]:
        line = await self._process.stdout.readline()
        if not line:
            await self._process.wait()
            raise AssertionError(f"the attacked process ended: {self.why()}")
        found: dict[str, Any] = json.loads(line)
        return found

    async def longest_block(self) -> float:
        """The longest time, in seconds of CPU time, in which the child's event loop ran nothing else."""
        return float((await self.ask(ask="heartbeat"))["longest"])

    async def closed_for_room(self) -> int:
        """How many connections its servers have closed because there were too many, or too many bytes of bodies."""
        return int((await self.ask(ask="closed"))["closed"])

    async def stop(self) -> None:
        """Ends the child."""
        if self._listening is not None:
            self._listening.cancel()
        await self._process.end()


@asynccontextmanager
async def running(kind: str, *arguments: str) -> AsyncIterator[Victim]:
    """Starts a child from `tests/attacks/victim.py`, and ends it."""
    many_files()
    with tempfile.TemporaryDirectory(prefix="attacks-") as folder:
        log = Path(folder) / "log"
        with log.open("wb") as stderr:
            child = await fork(kind, *arguments, errors=stderr.fileno())
        victim = Victim(child, log)
        try:
            await victim.begin()
            yield victim
        finally:
            await victim.stop()


async def assault(victim: Victim, attack: Attack, *, growth: int = GROWTH, block: float = BLOCK) -> None:
    """Attacks a child, `COPIES` times at the same time, and asserts that it survives. See the module's contract."""
    victim.is_sound, victim.closed = False, 0
    before = await victim.closed_for_room()
    async with probing(victim.probe) as probes:
        victim.probes = probes
        victim.prepare()
        async with asyncio.timeout(PATIENCE if COPIES == 1 else PATIENCE * 5):
            await victim.outlives(asyncio.gather(*(attack() for _ in range(COPIES))))
    print(f"{COPIES} copies: {probes.worst()}")
    longest, closed = await victim.longest_block(), await victim.closed_for_room() - before
    assert victim.closed <= closed, f"{victim.closed} connections were closed, and only {closed} to make room"
    if COPIES == 1:
        grown = victim.resident("VmHWM") - victim.fresh
        print(f"memory grew by {grown / MIB:.0f} MiB, from {victim.fresh / MIB:.0f} MiB")
        assert grown < growth, f"memory grew by {grown / MIB:.0f} MiB, from {victim.fresh / MIB:.0f} MiB"
        assert longest < block, f"one callback of the event loop took {longest:.1f} s of CPU time"
    assert victim.alive, victim.why()
    victim.is_sound = True
