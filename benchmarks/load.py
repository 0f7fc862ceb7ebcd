"""Filling the server, changing what is in it at a given rate, and clearing it again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import samples
from kubewright.client import Client, NotFound, Status, Timeout, Unavailable

__all__ = ["Load", "Written"]

_WRITERS = 16
_PATIENCE = 20
_FOOS = f"/apis/{samples.GROUP}/{samples.VERSION}"
_MERGE_PATCH = "application/merge-patch+json"


@dataclass(frozen=True)
class Written:
    """How a number of writes went."""

    rate: float
    """Per second, as it was reached: lower than asked for when the server does not keep up."""
    answered: list[float]
    """Milliseconds from each write to its answer."""


class Load:
    """Writes to one server. Each method is a whole run of an event loop: call them from plain code."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig

    def install(self) -> None:
        """Make the kind Foo known, and wait until it is served."""
        self._run(_install)

    def fill_foos(self, namespace: str, count: int) -> None:
        """Make that many Foos in a new namespace."""

        async def make(client: Client, number: int) -> None:
            await client.request("POST", _foos(namespace), body=samples.foo(number, namespace))

        self._run(lambda client: _fill(client, namespace, count, make))

    def fill_pods(self, namespace: str, count: int) -> None:
        """Make that many running pods in a new namespace."""
        path = f"/api/v1/namespaces/{namespace}/pods"

        async def make(client: Client, number: int) -> None:
            pod = samples.pod(number, namespace)
            await client.request("POST", path, body=pod)
            status = f"{path}/{pod['metadata']['name']}/status"
            body = {"status": samples.pod_status(number)}
            await client.request("PATCH", status, body=body, content_type=_MERGE_PATCH)

        self._run(lambda client: _fill(client, namespace, count, make))

    def write(self, namespace: str, count: int, per_second: float) -> Written:
        """Change that many Foos, each once, at that rate; each tells when that was in its annotation."""
        start, answered = time.monotonic(), list[float]()
        self._run(lambda client: _write(client, namespace, count, per_second, answered))
        return Written(rate=count / (time.monotonic() - start), answered=answered)

    def clear(self, namespace: str) -> None:
        """Remove the Foos and ConfigMaps of a namespace."""
        self._run(lambda client: _clear(client, namespace))

    def _run(self, work: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
        async def run() -> None:
            async with Client.connect(kubeconfig=self._kubeconfig) as client:
                await work(client)

        asyncio.run(run())


async def _install(client: Client) -> None:
    await client.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body=samples.crd())
    async with asyncio.timeout(30):
        while not await _is_served(client):  # noqa: ASYNC110  # the server sends no event when it starts to serve
            await asyncio.sleep(0.1)


async def _is_served(client: Client) -> bool:
    try:
        await client.request("GET", f"{_FOOS}/{samples.PLURAL}")
    except NotFound:
        return False
    return True


async def _fill(
    client: Client, namespace: str, count: int, make: Callable[[Client, int], Coroutine[Any, Any, None]]
) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    await client.request("POST", "/api/v1/namespaces", body=body)
    numbers = iter(range(count))

    async def writer() -> None:
        for number in numbers:
            await make(client, number)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_WRITERS):
            tasks.create_task(writer())


async def _write(client: Client, namespace: str, count: int, per_second: float, answered: list[float]) -> None:
    # Without a limit, a moment's delay would open a connection for each waiting write, and the handshakes would keep
    # the server busy long after it.
    places = asyncio.Semaphore(_WRITERS)

    async def change(number: int) -> None:
        path = f"{_foos(namespace)}/{samples.foo_name(number)}"
        async with places:
            began = time.time()
            body = {"metadata": {"annotations": {samples.WRITTEN: f"{began:.6f}"}}}
            await client.request("PATCH", path, body=body, content_type=_MERGE_PATCH)
            answered.append((time.time() - began) * 1000)

    start = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        for number in range(count):
            # By the schedule rather than by the last write: a slow write must not lower the rate.
            await asyncio.sleep(max(start + number / per_second - time.monotonic(), 0))
            tasks.create_task(change(number))


async def _clear(client: Client, namespace: str) -> None:
    for path in (_foos(namespace), f"/api/v1/namespaces/{namespace}/configmaps"):
        await _delete_all(client, path)


async def _delete_all(client: Client, path: str) -> None:
    for _ in range(_PATIENCE):
        try:
            await client.request("DELETE", path)
        except Timeout:  # the server gives itself a minute for all of them, and has deleted some by then
            continue
        return
    raise Unavailable(Status(message=f"the server does not get done with deleting {path}"))


def _foos(namespace: str) -> str:
    return f"{_FOOS}/namespaces/{namespace}/{samples.PLURAL}"
