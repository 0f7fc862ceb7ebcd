"""At no moment may two leaders write, whatever happens to the processes, their clocks and their wires."""

from __future__ import annotations

import asyncio
import functools
import random
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.clock import VirtualClock
from kubewright.election import LeaderElector
from tests.election.processes import LeaseServer, Process

TROUBLE_ENDS = 240.0
# Half the difference between 15 and 10 s: no clock of a computer is that bad.
RATES = st.sampled_from([0.9, 1.0, 1.0, 1.1])


@dataclass(frozen=True)
class Trouble:
    at: float
    kind: str
    process: int
    seconds: float


def troubles(processes: int) -> st.SearchStrategy[list[Trouble]]:
    one = st.builds(
        Trouble,
        at=st.integers(0, int(TROUBLE_ENDS * 4)).map(lambda quarter: quarter / 4),
        kind=st.sampled_from(["pause", "nap", "cut", "deaf", "slow", "crawl", "stop", "kill"]),
        process=st.integers(0, processes - 1),
        seconds=st.sampled_from([0.5, 3.0, 6.0, 9.5, 10.5, 14.0, 16.0, 40.0]),
    )
    return st.lists(one, max_size=14)


class Replica:
    """A process that stands again, with a new elector, whenever its leadership is over: as a pod is restarted."""

    def __init__(self, process: Process, seed: int, electors: list[LeaderElector]) -> None:
        self.process = process
        self.electors = electors
        self.rng = random.Random(seed)
        self.terms = 0
        self.current: LeaderElector | None = None
        self.latency = process.latency
        self.killed = False
        self._start()

    async def run(self) -> None:
        while True:
            self.terms += 1
            identity = f"{self.process.name}-{self.terms}"
            self.current = self.process.elector(identity=identity, rng=random.Random(self.rng.random()))
            self.electors.append(self.current)
            async with self.current:
                await self.current.wait_for_loss()

    async def end(self) -> None:
        self.process.cut, self.process.latency = True, 0.0  # so that nothing waits for a time that does not come
        self.process.resume()
        self.task.cancel()
        await self.process.time.run(asyncio.wait([self.task]))

    def suffer(self, trouble: Trouble) -> None:
        process = self.process
        if trouble.kind in ("pause", "nap"):
            process.pause()
            wake = functools.partial(process.resume, answers_first=trouble.kind == "nap")
            process.time.call_later(trouble.seconds, wake)
        elif trouble.kind in ("cut", "deaf"):
            setattr(process, trouble.kind, True)
            process.time.call_later(trouble.seconds, lambda: setattr(process, trouble.kind, False))
        elif trouble.kind in ("slow", "crawl"):
            process.latency = 0.4 if trouble.kind == "slow" else 3.0
            process.time.call_later(trouble.seconds, lambda: setattr(process, "latency", self.latency))
        elif trouble.kind == "stop":
            if self.current is not None:
                asyncio.create_task(self.current.stop())  # noqa: RUF006  # the elector's own end keeps it
        elif not self.killed:  # nothing is released
            self.killed = True
            self.task.cancel()
            process.cut = True
            process.time.call_later(trouble.seconds, lambda: setattr(process, "cut", False))
            process.time.call_later(trouble.seconds, self._restart)

    def _restart(self) -> None:
        self.killed = False
        self.task.add_done_callback(lambda _: self._start())

    def _start(self) -> None:
        self.task = asyncio.create_task(self.run())


async def scenario(rates: list[float], latency: float, events: list[Trouble], seed: int) -> None:
    time, server = VirtualClock(), LeaseServer()
    electors: list[LeaderElector] = []
    replicas = [
        Replica(
            Process(f"p{number}", server, time, rate=rate, skew=1000.0 * number, latency=latency),
            seed + number,
            electors,
        )
        for number, rate in enumerate(rates)
    ]
    try:
        await live_through(sorted(events, key=lambda event: event.at), replicas, electors, time)
    finally:
        for replica in replicas:
            await replica.end()


async def live_through(
    events: list[Trouble], replicas: list[Replica], electors: list[LeaderElector], time: VirtualClock
) -> None:
    def may_write() -> list[str]:
        allowed = [elector.identity for elector in electors if elector._fence.remaining > 0]
        assert len(allowed) <= 1, f"at {time.monotonic()} s {allowed} may write at once"
        return allowed

    async def until(moment: float) -> None:
        # A fence opens at a moment in which something happens, so it is enough to look at those.
        while (step := time.next_timer) is not None and time.monotonic() + step <= moment:
            await time.advance(step)
            may_write()
        await time.advance(moment - time.monotonic())

    for event in events:
        await until(event.at)
        replicas[event.process].suffer(event)
        await time.settled()
        may_write()
    # Without faults: after the longest outage, an old lease and one retry period, one process leads and keeps leading.
    await until(TROUBLE_ENDS + 40 + 30)
    leader = may_write()
    assert len(leader) == 1
    await until(TROUBLE_ENDS + 40 + 30 + 100)
    assert may_write() == leader


@settings(max_examples=60, deadline=None)
@given(
    rates=st.lists(RATES, min_size=2, max_size=3),
    latency=st.sampled_from([0.0, 0.05, 0.5]),
    events=troubles(2),
    seed=st.integers(0, 2**16),
)
def test_at_no_moment_may_two_leaders_write(
    rates: list[float], latency: float, events: list[Trouble], seed: int
) -> None:
    asyncio.run(scenario(rates, latency, events, seed))
