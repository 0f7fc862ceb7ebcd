"""Pods as processes: how long they take to start and to end, and what a node with them costs at rest.

    python -m benchmarks.pods

Prints a table for `docs/process-nodes.md`. The program of the pods is `sleep`, whose own start is measured, too.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Awaitable
from pathlib import Path

from kubewright.api import core, from_dict
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.cluster.processes import Image, Images
from kubewright.cluster.workloads import Workloads

ONE_BY_ONE, TOGETHER = 20, 200
SETTLE_SECONDS, IDLE_SECONDS = 10.0, 30.0
PROGRAM = ["/bin/sleep", "1000"]


def pod(name: str) -> core.Pod:
    """Returns a pod that sleeps."""
    spec = {"containers": [{"name": "main", "image": "sleep"}], "automountServiceAccountToken": False}
    return from_dict(core.Pod, {"metadata": {"name": name}, "spec": spec})


def is_ready(found: core.Pod) -> bool:
    """Returns whether the pod is ready."""
    return any(each.type == "Ready" and each.status == "True" for each in found.status.conditions or ())


def cpu_seconds() -> float:
    """Returns the CPU time of this process and of its children, such as the supervisor of pods."""
    ticks = 0
    for pid in [os.getpid(), *map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())]:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


async def timed(work: Awaitable[object]) -> float:
    """Returns the seconds that work takes."""
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


async def idle() -> str:
    """Returns the CPU of the cluster and its node at rest."""
    await asyncio.sleep(SETTLE_SECONDS)
    before = cpu_seconds()
    await asyncio.sleep(IDLE_SECONDS)
    return f"{(cpu_seconds() - before) / IDLE_SECONDS:.1%} of a core"


async def all_ready(client: Client, names: list[str]) -> None:
    """Creates pods and waits until all of them are ready."""
    for name in names:
        await client.create(pod(name))
    for name in names:
        await client.wait_for(core.Pod, name, is_ready)


async def all_gone(client: Client) -> None:
    """Deletes all pods and waits for the end of their processes."""
    await client.delete_collection(core.Pod)
    while [*await client.list(core.Pod)]:  # noqa: ASYNC110  # nothing announces the last one
        await asyncio.sleep(0.05)


async def program_start() -> None:
    """Starts and kills the program of the pods."""
    process = await asyncio.create_subprocess_exec(*PROGRAM)
    process.kill()
    await process.wait()


async def main() -> None:
    """Measures, and prints a table."""
    own = statistics.median([await timed(program_start()) for _ in range(ONE_BY_ONE)])
    async with Cluster(workloads=Workloads(processes=Images({"sleep": Image(command=PROGRAM)}))) as cluster:
        await cluster.serve()
        client = cluster.client()
        rows = [("the program's own start", f"{own * 1000:.0f} ms"), ("idle node", await idle())]
        single = [await timed(all_ready(client, [f"single-{number}"])) for number in range(ONE_BY_ONE)]
        rows.append(("start of a pod until it is ready, median", f"{statistics.median(single) * 1000:.0f} ms"))
        many = [f"many-{number}" for number in range(TOGETHER)]
        rows.append((f"start of {TOGETHER} pods", f"{await timed(all_ready(client, many)):.1f} s"))
        total = ONE_BY_ONE + TOGETHER
        rows.append((f"idle node with {total} pods", await idle()))
        rows.append((f"end of {total} pods", f"{await timed(all_gone(client)):.1f} s"))
    print("| | measured |\n|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    asyncio.run(main())
