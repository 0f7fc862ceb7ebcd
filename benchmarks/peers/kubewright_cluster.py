"""The embedded cluster at work, in a process of its own. Says what it measured, one line for each case.

Rates are taken twice: by the clock, and by the CPU time of this process, which other programs do not disturb.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from benchmarks.arithmetic import percentile
from benchmarks.peers.protocol import say
from kubewright.client import Client, Request, Response
from kubewright.cluster import Cluster

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WRITES_PER_SECOND = 500


def config_map(number: int, size: int = 2000) -> dict[str, Any]:
    return {"metadata": {"name": f"object-{number:06}"}, "data": {"text": "x" * size}}


async def rate(count: int, write: Callable[[int], Awaitable[object]], writers: int) -> dict[str, float]:
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            await write(number)

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(writers)))
    return {
        "per_second": count / (time.perf_counter() - wall),
        "per_cpu_second": count / (time.process_time() - cpu),
    }


async def start() -> None:
    began = time.perf_counter()
    async with Cluster():
        say("start", milliseconds=(time.perf_counter() - began) * 1000)


async def in_process(count: int) -> None:
    async with Cluster(controllers=False) as cluster, cluster.client() as client:

        async def write(number: int) -> None:
            await client.request("POST", CONFIG_MAPS, body=config_map(number))

        say("in-process", **await rate(count, write, 1))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    say("memory", megabytes=memory, objects=count)


async def over_http(count: int) -> None:
    async with Cluster(controllers=False) as cluster:
        await cluster.serve()
        async with Client.connect(kubeconfig=cluster.kubeconfig()) as client:

            async def write(number: int) -> None:
                await client.request("POST", CONFIG_MAPS, body=config_map(number))

            say("http", **await rate(count, write, 8))


async def opened(cluster: Cluster, path: str, **query: str) -> Response:
    request = Request(method="GET", path=path, query=list(query.items()), stream=True)
    return await cluster.transport().send(request)


async def events(response: Response) -> AsyncIterator[dict[str, Any]]:
    rest = b""
    async for chunk in response.chunks():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield json.loads(line)


async def fan_out(watchers: int) -> None:
    async with Cluster(controllers=False) as cluster, cluster.client() as client:
        streams = [(await opened(cluster, CONFIG_MAPS, watch="true")).chunks() for _ in range(watchers)]
        reading = [asyncio.ensure_future(anext(stream)) for stream in streams]
        await asyncio.sleep(0)
        cpu = time.process_time()
        await client.request("POST", CONFIG_MAPS, body=config_map(0))
        await asyncio.gather(*reading)
        say("fan-out", watchers=watchers, microseconds=(time.process_time() - cpu) / watchers * 1e6)


async def latency(seconds: float) -> None:
    count = int(WRITES_PER_SECOND * seconds)
    async with Cluster(controllers=False) as cluster, cluster.client() as client:
        written: dict[str, float] = {}
        took: list[float] = []
        watch = await opened(cluster, CONFIG_MAPS, watch="true")

        async def follow() -> None:
            async for event in events(watch):
                took.append((time.perf_counter() - written[event["object"]["metadata"]["name"]]) * 1000)
                if len(took) == count:
                    return

        following = asyncio.ensure_future(follow())
        began = time.perf_counter()
        for number in range(count):
            await asyncio.sleep(max(0.0, began + number / WRITES_PER_SECOND - time.perf_counter()))
            body = config_map(number)
            written[body["metadata"]["name"]] = time.perf_counter()
            await client.request("POST", CONFIG_MAPS, body=body)
        await following
        say("latency", p50=percentile(took, 50), p99=percentile(took, 99), writes_per_second=WRITES_PER_SECOND)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--watchers", type=int, default=10_000)
    arguments = parser.parse_args()
    await start()
    await start()
    await in_process(arguments.objects)
    await over_http(arguments.objects // 2)
    for watchers in (arguments.watchers // 10, arguments.watchers):
        await fan_out(watchers)
    await latency(4.0)


if __name__ == "__main__":
    try:
        import uvloop

        uvloop.run(main())
    except ImportError:
        asyncio.run(main())
