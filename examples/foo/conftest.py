"""Where the sample-controller is tried: on clusters whose Deployments get pods."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kubewright.client import Client
from kubewright.testing import FakeNode


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    """The embedded cluster runs Deployments, too."""
    return {"controllers": True, "workloads": True}


@pytest.fixture
async def nodes(cluster_kind: str, client: Client, namespace: str) -> AsyncIterator[None]:
    """Pods become ready: on the real control plane, which has no nodes, through one that needs no machine."""
    async with contextlib.AsyncExitStack() as stack:
        if cluster_kind == "real":
            await stack.enter_async_context(FakeNode(client, name=f"node-{namespace}", namespace=namespace))
        yield
