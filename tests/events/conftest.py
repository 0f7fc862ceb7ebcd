"""An object for events, and recorders on a clock at the present time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from kubewright.api import core, meta
from kubewright.client import Client
from kubewright.clock import VirtualClock
from kubewright.events import EventRecorder


@pytest.fixture
async def subject(client: Client, namespace: str) -> core.ConfigMap:
    return await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="subject", namespace=namespace)))


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(datetime.now(UTC))


@pytest.fixture
async def recorder(client: Client, clock: VirtualClock) -> AsyncIterator[EventRecorder]:
    async with EventRecorder(client, "test-controller", instance="test-controller-0", clock=clock) as recorder:
        yield recorder


@pytest.fixture
async def core_recorder(client: Client, clock: VirtualClock) -> AsyncIterator[EventRecorder]:
    async with EventRecorder(client, "test-controller", version="v1", clock=clock) as recorder:
        yield recorder
