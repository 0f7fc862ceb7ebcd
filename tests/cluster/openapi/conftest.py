"""Both servers with the same definitions."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from kubewright.client import HttpTransport, load_config
from kubewright.clock import SystemClock
from kubewright.cluster import Cluster
from kubewright.testing import ControlPlane
from tests.cluster.openapi.definitions import DEFINITIONS
from tests.cluster.openapi.servers import DEFINITIONS_PATH, Server
from tests.patience import PATIENCE


@pytest.fixture(scope="package")
def control_plane() -> Iterator[ControlPlane]:
    """For this folder alone: deleting many definitions takes the real server longer than starting."""
    with ControlPlane() as plane:
        yield plane


@pytest.fixture(scope="package")
def defined(control_plane: ControlPlane) -> None:
    """Creates the definitions on the real server."""
    for each in DEFINITIONS:
        control_plane.request("POST", DEFINITIONS_PATH, each)
    last = time.monotonic() + PATIENCE
    while not _all_published(control_plane):
        assert time.monotonic() < last, "the real server does not publish the definitions"
        time.sleep(0.1)  # real: nothing announces it


def _all_published(control_plane: ControlPlane) -> bool:
    served: Any = control_plane.request("GET", "/openapi/v2")["definitions"]
    index = control_plane.request("GET", "/openapi/v3")
    return all(
        ".".join([*reversed(each["spec"]["group"].split(".")), version["name"], each["spec"]["names"]["kind"]])
        in served
        and f"apis/{each['spec']['group']}/{version['name']}" in index
        for each in DEFINITIONS
        for version in each["spec"]["versions"]
        if version["served"]
    )


@pytest_asyncio.fixture
async def embedded_cluster() -> AsyncIterator[Cluster]:
    async with Cluster(controllers=False) as cluster:
        await cluster.serve()
        yield cluster


@pytest_asyncio.fixture
async def embedded(embedded_cluster: Cluster) -> AsyncIterator[Server]:
    """The embedded cluster on a port, with the definitions."""
    transport = HttpTransport(load_config(kubeconfig=embedded_cluster.kubeconfig()), SystemClock())
    server = Server(transport)
    for each in DEFINITIONS:
        answer = await server.send("POST", DEFINITIONS_PATH, each)
        assert answer.status == 201, answer.body
    yield server
    await transport.close()


@pytest_asyncio.fixture
async def real(control_plane: ControlPlane, defined: None) -> AsyncIterator[Server]:
    """The real server, with the definitions."""
    transport = HttpTransport(load_config(kubeconfig=control_plane.kubeconfig), SystemClock())
    yield Server(transport)
    await transport.close()
