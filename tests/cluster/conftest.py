"""Raw requests to the embedded cluster, as any client could send them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest_asyncio

from kubewright.client import Request, Response, Transport
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster


@dataclass
class Got:
    """A response that was read."""

    status: int
    body: Any
    warnings: list[str]


class Raw:
    """Sends requests as they are."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    async def open(self, method: str, path: str, body: Any = None, **options: Any) -> Response:
        path, _, query = path.partition("?")
        pairs = [(name, value) for name, _, value in (part.partition("=") for part in query.split("&") if part)]
        headers = {"User-Agent": "test/1", **options.get("headers", {})}
        if body is not None:
            headers.setdefault("Content-Type", options.get("type", "application/json"))
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        return await self.transport.send(
            Request(method=method, path=path, query=pairs, headers=headers, body=content, stream="watch" in query)
        )

    async def __call__(self, method: str, path: str, body: Any = None, **options: Any) -> Got:
        response = await self.open(method, path, body, **options)
        content = await response.read()
        try:
            decoded = json.loads(content)
        except ValueError:
            decoded = content.decode()
        return Got(response.status, decoded, response.warnings())


@pytest_asyncio.fixture
async def clock() -> VirtualClock:
    return VirtualClock()


@pytest_asyncio.fixture
async def embedded(clock: VirtualClock) -> AsyncIterator[Cluster]:
    async with Cluster(clock=clock, seed=1, controllers=False) as cluster:
        yield cluster


@pytest_asyncio.fixture
async def raw(embedded: Cluster) -> Raw:
    return Raw(embedded.transport())
