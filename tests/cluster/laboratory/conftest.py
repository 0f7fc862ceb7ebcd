"""A cluster with a laboratory, in-process and HTTP clients without retries, and watches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kubewright.api import Object, core, meta
from kubewright.client import Client, RetryPolicy, load_config
from kubewright.cluster import Cluster
from kubewright.cluster.laboratory import Disturbance, Fault, Laboratory
from tests.patience import PATIENCE

ONCE = RetryPolicy(attempts=1)


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(seed="laboratory") as made:
        yield made


@pytest.fixture
def lab(cluster: Cluster) -> Laboratory:
    return cluster.lab


@pytest.fixture(params=["in-process", "http"])
async def client(request: pytest.FixtureRequest, cluster: Cluster) -> AsyncIterator[Client]:
    if request.param == "in-process":
        yield cluster.client(retry=ONCE)
        return
    await cluster.serve()
    async with Client(load_config(kubeconfig=cluster.kubeconfig()), retry=ONCE) as connected:
        yield connected


async def reached(arranged: Fault | Disturbance, hits: int) -> None:
    """Waits until the fault or disturbance was hit that many times."""
    async with asyncio.timeout(PATIENCE):
        while arranged.hits < hits:  # noqa: ASYNC110  # turns of the loop are what is waited for
            await asyncio.sleep(0)


def config_map(name: str = "a", namespace: str = "default", **data: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace=namespace), data=data or None)


class Watching:
    """A watch whose events are read one by one."""

    def __init__(self, client: Client, kind: type[Object] = core.ConfigMap, **options: Any) -> None:
        self._events = aiter(client.watch(kind, "default", **options))
        self._next: asyncio.Future[Any] | None = None

    def begin(self) -> asyncio.Future[Any]:
        """Starts waiting for the next event."""
        if self._next is None:
            self._next = asyncio.ensure_future(anext(self._events))
        return self._next

    async def take(self, number: int = 1) -> list[tuple[str, str]]:
        """Returns the types and object names of the next events."""
        found = []
        async with asyncio.timeout(PATIENCE):
            for _ in range(number):
                event = await self.begin()
                self._next = None
                found.append((event.type, event.object.metadata.name))
        return found

    async def close(self) -> None:
        if self._next is not None:
            self._next.cancel()
            await asyncio.gather(self._next, return_exceptions=True)
        await self._events.aclose()
