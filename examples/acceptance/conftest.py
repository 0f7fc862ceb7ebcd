"""Fixtures of the acceptance tests, on the real control plane."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest
from neutron_server import NeutronServer

from examples.acceptance.systems import SYSTEMS, System, World
from kubewright.client import Client
from kubewright.crd import install
from kubewright.testing import ControlPlane, FakeNode, ServiceAccount, add_operator_account

HOME = "operators"
"""The namespace of the operators' service accounts."""


@pytest.fixture(scope="session")
def account_of(control_plane: ControlPlane) -> Callable[[System], ServiceAccount]:
    """Returns a service account with only the roles that `kubewright manifests` generates."""
    control_plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": HOME}})
    accounts = {system.name: add_operator_account(control_plane, system.operator, HOME) for system in SYSTEMS}
    return lambda system: accounts[system.name]


@pytest.fixture
async def world(client: Client, namespace: str) -> AsyncIterator[World]:
    """A namespace with nodes, and a Neutron server."""
    async with AsyncExitStack() as stack:
        await install(client, *(system.kind for system in SYSTEMS))
        await stack.enter_async_context(FakeNode(client, name=f"node-{namespace}", namespace=namespace))
        neutron = await stack.enter_async_context(NeutronServer())
        yield World(client, namespace, neutron)
