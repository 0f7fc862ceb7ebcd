"""Transports to both servers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest_asyncio

from kubewright.client import HttpTransport, Transport, load_config
from kubewright.clock import SystemClock
from kubewright.cluster import Cluster
from kubewright.testing import ControlPlane
from tests.cluster.differential.pairs import WIDGET, WIDGETS, answer


@pytest_asyncio.fixture
async def real(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    """The real server, as its administrator."""
    transport = HttpTransport(load_config(kubeconfig=control_plane.kubeconfig), SystemClock())
    yield transport
    await transport.close()


@pytest_asyncio.fixture
async def both(real: Transport) -> AsyncIterator[tuple[Transport, Transport]]:
    """The embedded and the real server, each with the custom resource of `pairs`."""
    definitions, body = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json.dumps(WIDGET).encode()
    async with Cluster(controllers=False, rbac=True) as cluster:
        embedded = cluster.transport()
        for transport in (embedded, real):
            status, problem = await answer(transport, "POST", definitions, body)
            assert status in (201, 409), problem
            while True:
                if (await answer(transport, "GET", WIDGETS))[0] != 404:
                    break
                await asyncio.sleep(0.05)  # real: nothing announces that it is served
        yield embedded, real
