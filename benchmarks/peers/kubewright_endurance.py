"""The embedded cluster under writes without end, in a process of its own: whether time and memory stay what they were.

A thousand objects are created, changed and deleted in turn, a watch follows, and history is forgotten as it grows. Says
for each tenth of the writes what one cost in CPU time, and how large the process is.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time

from benchmarks.peers.protocol import say
from kubewright.client import Client, Request
from kubewright.cluster import Cluster

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
OBJECTS = 1000
TENTHS = 10
_LIFE = 20  # writes to an object from its creation to its deletion


def resident_megabytes() -> float:
    """What the process has in memory now, not at its largest."""
    with open("/proc/self/statm", encoding="ascii") as status:
        return int(status.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


async def write(client: Client, number: int) -> None:
    """The next write in the life of the object whose turn it is."""
    turn, place = divmod(number, OBJECTS)
    name, age = f"object-{place:04}", (turn + place) % _LIFE
    path = f"{CONFIG_MAPS}/{name}"
    if turn == 0 and age == _LIFE - 1:
        return  # it is born in the next turn
    if turn == 0 or age == 0:
        body = {"metadata": {"name": name}, "data": {"text": "x" * 2000, "turn": str(turn)}}
        await client.request("POST", CONFIG_MAPS, body=body)
    elif age == _LIFE - 1:
        await client.request("DELETE", path)
    else:
        patch = json.dumps({"data": {"turn": str(turn)}}).encode()
        await client.request("PATCH", path, body=patch, content_type="application/merge-patch+json")


async def follow(cluster: Cluster) -> None:
    """Reads a watch until it is canceled."""
    while True:
        request = Request(method="GET", path=CONFIG_MAPS, query=[("watch", "true")], stream=True)
        async for _ in (await cluster.transport().send(request)).chunks():
            pass


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--writes", type=int, default=1_000_000)
    writes = parser.parse_args().writes
    async with Cluster() as cluster, cluster.client() as client:
        following = asyncio.ensure_future(follow(cluster))
        for tenth in range(TENTHS):
            cpu = time.process_time()
            for number in range(writes * tenth // TENTHS, writes * (tenth + 1) // TENTHS):
                await write(client, number)
                if number % 100 == 0:
                    await asyncio.sleep(0)  # the watch has its turn
            spent = time.process_time() - cpu
            say("tenth", per_cpu_second=writes / TENTHS / spent, megabytes=resident_megabytes())
        following.cancel()


if __name__ == "__main__":
    try:
        import uvloop

        uvloop.run(main())
    except ImportError:
        asyncio.run(main())
