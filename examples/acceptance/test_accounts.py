"""Each operator runs as its own service account, with only its generated roles."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from examples.acceptance.systems import SYSTEMS, System, World
from kubewright.cache import CacheSyncError
from kubewright.client import Client, Forbidden
from kubewright.clock import VirtualClock
from kubewright.testing import ControlPlane, ServiceAccount

pytestmark = pytest.mark.control_plane


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: str(system.name))
async def test_the_generated_roles_are_enough(
    system: System,
    world: World,
    account_of: Callable[[System], ServiceAccount],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("NEUTRON_URL", world.neutron.url)
    monkeypatch.setenv("NEUTRON_TOKEN", "demo")
    account = account_of(system)
    # As in a pod: with leader election, and without permission to install CRDs.
    defines = bool(system.operator.settings.install_crds)
    async with system.operator.running(
        account, install_crds=defines, webhook_bind="0", leader_elect=True, lease_namespace=account.namespace
    ):
        for turn in range(3):
            await system.ask(world, turn)
            await system.done(world, turn)
    # Terminating namespaces of earlier tests accept no events.
    refused = [line for line in caplog.text.splitlines() if "forbidden" in line.lower() and "terminat" not in line]
    assert refused == []


async def test_a_missing_permission_is_named_with_the_kind_and_the_user(control_plane: ControlPlane) -> None:
    """A missing CRD is tested in the example."""
    testresource = next(system.operator for system in SYSTEMS if system.name == "testresource")
    async with Client.connect(kubeconfig=control_plane.add_user("visitor")) as client:
        clock = VirtualClock()
        running = testresource.running(client, install_crds=False, sync_timeout=0.01, clock=clock)
        start = asyncio.create_task(running.__aenter__())
        while running.caches is None or not any(one.health.last_error for one in running.caches.informers):  # noqa: ASYNC110
            await asyncio.sleep(0.02)  # until the cache has an error
        await clock.advance(0.01)
        with pytest.raises(CacheSyncError, match=r"TestResource .*testresources.* is forbidden.*visitor"):
            await start
        with pytest.raises(Forbidden, match="customresourcedefinitions"):
            async with testresource.running(client):
                pass
