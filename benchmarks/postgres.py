"""The Postgres example with a thousand clusters: time, memory and API calls of its operator.

    python -m benchmarks.postgres [CLUSTERS]

Prints a table for `docs/benchmarks.md`. The embedded cluster, planned pods and a simulated Patroni run in this process.
The operator is a process of its own, `benchmarks.peers.kubewright_postgres`, and is measured from outside.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time

from benchmarks.machine import describe
from benchmarks.measure import Process, Usage
from benchmarks.programs import ROOT

EXAMPLE = ROOT / "examples" / "postgres"
sys.path.insert(0, str(EXAMPLE))

from postgres_operator.kinds import Postgresql, State  # noqa: E402  # the example is not a package
from postgres_operator.simulated import SimulatedEngine  # noqa: E402
from worlds import minimal  # noqa: E402

from kubewright.client import Client  # noqa: E402
from kubewright.cluster import Cluster  # noqa: E402
from kubewright.cluster.workloads import Workloads  # noqa: E402

PATIENCE = 1800.0
CREATORS = 8
PROGRAM = "kubewright_postgres"
"""The start of the operator's User-Agent."""


async def create(client: Client, clusters: int) -> None:
    """Creates all clusters, a few at a time."""

    async def some(first: int) -> None:
        for number in range(first, clusters, CREATORS):
            await client.create(minimal(f"acid-{number}", number_of_instances=1))

    await asyncio.gather(*(some(first) for first in range(CREATORS)))


async def all_run(client: Client, clusters: int) -> None:
    """Waits until all clusters run."""
    running = 0
    while running < clusters:  # nothing announces the last one
        await asyncio.sleep(1.0)
        running = sum([one.status.state is State.RUNNING async for one in client.list(Postgresql)])


async def report(process: Process) -> tuple[int, Usage]:
    """Lets the operator settle. Returns how often it has reconciled, and what it has used."""
    process.go()
    said, usage = await asyncio.to_thread(process.wait_for, "settled", PATIENCE)
    return int(said["reconciles"]), usage


async def measure(clusters: int) -> list[tuple[str, str]]:
    """Returns the rows of the table."""
    async with Cluster(workloads=Workloads(nodes=1, heartbeat=None), seed=1) as cluster, cluster.client() as client:
        await cluster.serve()
        journal = cluster.lab
        journal.journal  # noqa: B018  # starts it
        async with SimulatedEngine({}).operator().running(cluster.client_as("patroni", "system:masters")):
            command = [sys.executable, "-m", "benchmarks.peers.kubewright_postgres", str(cluster.kubeconfig())]
            with Process(command, cwd=ROOT) as process:
                await asyncio.to_thread(process.wait_for, "ready", PATIENCE)
                began, (_, empty) = time.perf_counter(), await report(process)
                start = journal.journal[-1].number
                await create(client, clusters)
                await all_run(client, clusters)
                seconds = time.perf_counter() - began
                reconciles, full = await report(process)
                calls = [one for one in journal.journal_since(start) if one.client.startswith(PROGRAM)]
                again = journal.journal[-1].number
                more, resynced = await report(process)
                later = [one for one in journal.journal_since(again) if one.client.startswith(PROGRAM)]
                quiet = [one for one in later if one.wrote and one.resource != "events"]  # events come later
    writes = [one for one in calls if one.wrote]
    return [
        (f"from the first creation until all {clusters} are Running", f"{seconds:.0f} s"),
        ("CPU of the operator for that", f"{full.cpu - empty.cpu:.1f} s"),
        ("memory of the operator: idle, with all clusters", f"{empty.memory:.0f} MB, {full.memory:.0f} MB"),
        ("memory after one more reconcile of each", f"{resynced.memory:.0f} MB"),
        ("reconciles of each cluster", f"{reconciles / clusters:.1f}"),
        ("API calls of each cluster", f"{len(calls) / clusters:.1f}, of which {len(writes) / clusters:.1f} write"),
        ("API calls of each reconcile", f"{len(calls) / reconciles:.2f}"),
        (f"writes of {more - reconciles} reconciles in which nothing changed", str(len(quiet))),
    ]


async def main() -> None:
    """Measures, and prints a table."""
    clusters = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    machine = describe()
    rows = await measure(clusters)
    print("| | measured |\n|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print(f"{machine}, load at the end: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    asyncio.run(main())
