"""The operator of the Postgres example with a simulated database, for `benchmarks.postgres`.

It says "ready" after its start, and for each line on standard input "settled" with the number of its reconciles. For
the third line, it reconciles everything once more. The fourth one ends it.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from benchmarks.peers.protocol import say

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "postgres"))

from postgres_operator.kinds import Postgresql  # the example is not a package
from postgres_operator.operator import engine, operator
from postgres_operator.simulated import SimulatedEngine

from kubewright.client import Client

PATIENCE = 1800.0


async def main() -> None:
    """Runs until standard input ends."""
    client = Client.connect(kubeconfig=sys.argv[1])
    async with client, operator.running(client, replace=[engine.replaced_by(SimulatedEngine({}))]) as running:
        controller = running.controller(Postgresql)
        say("ready")
        for again in (False, False, True):
            await asyncio.to_thread(sys.stdin.readline)
            if again:
                await running.check_idempotent(timeout=PATIENCE)
            else:
                await running.settled(timeout=PATIENCE)
            say("settled", reconciles=sum(controller.stats.reconciles.values()))
        await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    asyncio.run(main())
