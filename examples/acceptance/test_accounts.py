"""Each operator runs as its own service account, with the roles that are generated from it and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from examples.acceptance.systems import SYSTEMS, System, World
from kubewright.cache import CacheSyncError
from kubewright.client import ApiError, Client, Forbidden
from kubewright.crd import InstallError
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
    # As in a pod: with leader election, and definitions only from who is allowed to make them.
    defines = bool(system.operator.settings.install_crds)
    async with system.operator.running(
        account, install_crds=defines, webhook_bind="0", leader_elect=True, lease_namespace=account.namespace
    ):
        for turn in range(3):
            await system.ask(world, turn)
            await system.done(world, turn)
    assert "forbidden" not in caplog.text.lower()


async def test_a_missing_permission_reads_differently_from_a_missing_definition(control_plane: ControlPlane) -> None:
    nobody = control_plane.add_user("nobody")
    testresource = next(system.operator for system in SYSTEMS if system.name == "testresource")
    async with Client.connect(kubeconfig=nobody) as client:
        with pytest.raises(CacheSyncError, match="TestResource") as error:
            async with testresource.running(client, install_crds=False, sync_timeout=3):
                pass
        assert "nobody" in str(error.value)
        assert "testresources" in str(error.value)
        with pytest.raises((InstallError, Forbidden, ApiError), match="customresourcedefinitions"):
            async with testresource.running(client):
                pass
