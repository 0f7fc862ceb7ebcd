"""An operator under random load and repeated faults for as long as you like: `make soak MINUTES=60`.

The operator is a process of its own (`tests/faults/replica.py`) on a real control plane. Its requests are refused and
lost, its server is killed, paused and made to forget, its token is replaced, a right is withdrawn and given back, in
random order, while toys are created, changed and deleted. Each minute one line tells what the process needs. The end is
a failure when the operator does not bring everything in order, when its caches are not what the server has, when the
process ended on the way, or when it has more tasks, threads or open files than at the beginning.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

from kubewright.api import core, meta
from kubewright.client import Client
from kubewright.crd import install
from kubewright.testing import ControlPlane
from tests.faults.load import Load, plan
from tests.faults.toys import Toy
from tests.faults.world import World
from tests.patience import until

TOYS = 300
ACTIONS = 200
# Between one quiet moment and another, idle connections and their tasks may differ; a leak would be larger by far.
SLACK = {"tasks": 2, "threads": 2, "files": 15}
COLUMNS = ("memory", "tasks", "threads", "files", "waiting", "reconciles")


class Soak:
    """One run."""

    def __init__(self, world: World, load: Load, rng: random.Random) -> None:
        self._world = world
        self._load = load
        self._rng = rng
        self._began = time.monotonic()
        self._reconciles = 0

    @property
    def minutes(self) -> float:
        return (time.monotonic() - self._began) / 60

    async def needs(self) -> dict[str, int]:
        answer: dict[str, int] = (await self._world.alive[0].ask("load"))[0]
        return answer

    async def quiet(self) -> dict[str, int]:
        """What the process needs when there is nothing to do."""
        await self._world.settles()
        await self._world.store_equals_server()
        return await self.needs()

    async def report(self) -> None:
        """A line each minute."""
        print(
            f"{'minute':>8}", *(f"{column:>10}" for column in COLUMNS), "  (memory in MB, reconciles since)", flush=True
        )
        while True:
            now = await self.needs()
            done, self._reconciles = now["reconciles"] - self._reconciles, now["reconciles"]
            shown = {**now, "reconciles": done}
            print(f"{self.minutes:8.1f}", *(f"{shown[column]:10}" for column in COLUMNS), flush=True)
            await asyncio.sleep(60 - (time.monotonic() - self._began) % 60)

    async def disturb(self, minutes: float) -> None:
        """Faults, one after the other, and load during each."""
        world = self._world
        faults = [
            world.requests_refused,
            world.server_killed_and_token_replaced,
            world.history_forgotten,
            world.right_withdrawn,
            world.server_paused,
        ]
        while self.minutes < minutes:
            for fault in self._rng.sample(faults, len(faults)):
                if self.minutes >= minutes:
                    break
                print(f"{self.minutes:8.1f} {fault.__name__.replace('_', ' ')}", flush=True)
                (actions,) = plan(self._rng, TOYS, 1, ACTIONS)
                await asyncio.gather(self._load.run(actions), fault())
                world.alive[0].gateway.exchanges.clear()

    async def check(self, before: dict[str, int]) -> None:
        """Everything is in order, and nothing is left over."""
        assert not self._world.exits, f"the operator ended: {[code for _, code in self._world.exits]}"
        await self._world.settles()
        await self._world.store_equals_server()
        after = dict[str, int]()

        async def back() -> bool:
            after.update(await self.needs())
            return all(after[what] <= before[what] + slack for what, slack in SLACK.items())

        try:
            await until(back, "")
        finally:
            print("before:", {what: before[what] for what in COLUMNS[:4]})
            print("after: ", {what: after[what] for what in COLUMNS[:4]}, flush=True)


async def soak(minutes: float, seed: int) -> None:
    rng = random.Random(seed)
    logs = Path(tempfile.mkdtemp(prefix="soak-"))
    print(f"seed {seed}; the operator's log is in {logs}")
    async with ControlPlane() as plane, Client.connect(kubeconfig=plane.kubeconfig) as admin:
        await admin.create(core.Namespace(metadata=meta.ObjectMeta(name="soak")))
        await install(admin, Toy)
        async with World(plane, admin, "soak", logs, count=1, elect=False) as world:
            world.alive[0].remembers = False
            load = Load(admin, "soak")
            run = Soak(world, load, rng)
            await load.run(plan(rng, TOYS, 1, ACTIONS)[0])
            before = await run.quiet()
            reporting = asyncio.create_task(run.report())
            try:
                await run.disturb(minutes)
                await run.check(before)
            finally:
                reporting.cancel()
    print(f"{load.done} actions in {run.minutes:.1f} minutes: everything is in order, and nothing is left over")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    arguments = parser.parse_args()
    try:
        asyncio.run(soak(arguments.minutes, arguments.seed))
    except AssertionError as error:
        sys.exit(f"FAILED: {error}")


if __name__ == "__main__":
    main()
