"""A webhook server, and the real server that calls it; for conversion, too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from kubewright.client import HttpTransport, Transport, load_config
from kubewright.clock import SystemClock
from kubewright.testing import ControlPlane
from tests.cluster.admission.hooks import HookServer


@pytest_asyncio.fixture
async def real(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    transport = HttpTransport(load_config(kubeconfig=control_plane.kubeconfig), SystemClock())
    yield transport
    await transport.close()


@pytest_asyncio.fixture
async def hooks(tmp_path: Path) -> AsyncIterator[HookServer]:
    async with HookServer(tmp_path) as server:
        yield server
