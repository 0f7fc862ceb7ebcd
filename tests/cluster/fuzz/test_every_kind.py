"""No body makes the embedded cluster fail: whatever a client writes, the answer is a success or names its mistake."""

from __future__ import annotations

import asyncio
import json
import logging
import random

import pytest

from kubewright.client import Request
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.machinery import ResourceType
from tests.cluster.fuzz.objects import hostile_object, spoiled_object
from tests.cluster.fuzz.requests import KINDS


class Failures(logging.Handler):
    """Records what the server logs as its own errors."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.logged: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.logged.append(self.format(record))


def collection_of(type_: ResourceType) -> str:
    root = f"/apis/{type_.group}/{type_.version}" if type_.group else f"/api/{type_.version}"
    return f"{root}/namespaces/default/{type_.plural}" if type_.namespaced else f"{root}/{type_.plural}"


def request_of(type_: ResourceType, rng: random.Random) -> Request:
    """Returns a create of a new object, or an update or merge patch of one that may exist, or of its status."""
    path = collection_of(type_)
    valid = KINDS.get(path) if rng.random() < 0.8 else None
    obj = hostile_object(type_.schema(), rng) if valid is None else spoiled_object(type_.schema(), valid, rng)
    methods = {"create": "POST", "update": "PUT", "patch": "PATCH"}
    method = rng.choice([method for verb, method in methods.items() if verb in type_.verbs])
    if method != "POST":
        status = type_.has_status and rng.random() < 0.3
        path = f"{path}/{rng.choice('abc')}{'/status' * status}"
    media = "application/merge-patch+json" if method == "PATCH" else "application/json"
    return Request(method=method, path=path, headers={"Content-Type": media}, body=json.dumps(obj).encode())


async def failures_of(seed: int, count: int) -> dict[str, str]:
    """Sends `count` writes for each kind. Returns the first error of the server itself for each kind."""
    rng, handler = random.Random(seed), Failures()
    found: dict[str, str] = {}
    logger = logging.getLogger("kubewright.cluster")
    logger.addHandler(handler)
    try:
        async with Cluster(clock=VirtualClock(), seed=seed, controllers=False) as cluster:
            transport = cluster.transport()
            for type_ in [each for each in cluster.state.types if "create" in each.verbs for _ in range(count)]:
                request = request_of(type_, rng)
                response = await transport.send(request)
                answer = await response.read()
                if handler.logged or (response.status == 500 and b"InternalError" in answer):
                    shown = f"{request.method} {request.path} {(request.body or b'').decode()}\n{answer.decode()}"
                    found.setdefault(type_.qualified, "\n".join([shown, *handler.logged]))
                    handler.logged.clear()
    finally:
        logger.removeHandler(handler)
    return found


@pytest.mark.promise("The embedded cluster", "No body of a request makes the server fail with an error of its own.")
@pytest.mark.parametrize("seed", range(2))
def test_no_write_of_any_kind_makes_the_server_fail(seed: int) -> None:
    found = asyncio.run(failures_of(seed, 40))
    assert not found, "\n\n".join(f"{kind}: {problem}" for kind, problem in found.items())
