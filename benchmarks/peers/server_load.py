"""A client that loads an API server over HTTPS: the same for the embedded cluster and for kube-apiserver with etcd."""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path

from benchmarks.peers.kubewright_cluster import CONFIG_MAPS, config_map, rate
from benchmarks.peers.protocol import say
from kubewright.client import Client, HttpTransport, Request, load_config
from kubewright.clock import SystemClock

LISTS = 5
WRITERS = 8


async def creates(client: Client, count: int) -> None:
    async def write(number: int) -> None:
        await client.request("POST", CONFIG_MAPS, body=config_map(number))

    say("creates", per_second=(await rate(count, write, WRITERS))["per_second"])


async def lists(transport: HttpTransport) -> None:
    """The bytes are read and not decoded, so that the server's time counts."""
    took: list[float] = []
    size = 0
    for _ in range(LISTS):
        began = time.perf_counter()
        response = await transport.send(Request(method="GET", path=CONFIG_MAPS, query=[("resourceVersion", "0")]))
        size = len(await response.read())
        took.append(time.perf_counter() - began)
    middle = sorted(took)[LISTS // 2]
    say("lists", milliseconds=middle * 1000, per_second=1 / middle, megabytes=size / 1e6)


async def fan_out(transport: HttpTransport, client: Client, watchers: int) -> None:
    """From a write until the last of many watchers has its event."""
    request = Request(
        method="GET",
        path=CONFIG_MAPS,
        query=[("watch", "true"), ("resourceVersion", "0"), ("fieldSelector", "metadata.name=fan-out")],
        stream=True,
    )
    responses = [await transport.send(request) for _ in range(watchers)]
    reading = [asyncio.ensure_future(anext(response.chunks())) for response in responses]
    await asyncio.sleep(0)
    began = time.perf_counter()
    body = {"metadata": {"name": "fan-out"}, "data": {"text": "x"}}
    await client.request("POST", CONFIG_MAPS, body=body)
    await asyncio.gather(*reading)
    say("fan-out", milliseconds=(time.perf_counter() - began) * 1000)
    for response in responses:
        response.close()


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--watchers", type=int, default=1_000)
    arguments = parser.parse_args()
    transport = HttpTransport(load_config(kubeconfig=arguments.kubeconfig), SystemClock())
    async with Client.connect(kubeconfig=arguments.kubeconfig) as client:
        try:
            await creates(client, arguments.objects)
            await lists(transport)
            await fan_out(transport, client, arguments.watchers)
        finally:
            await transport.close()


if __name__ == "__main__":
    asyncio.run(main())
