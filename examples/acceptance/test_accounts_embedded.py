"""The generated roles suffice on an embedded cluster with RBAC."""

from __future__ import annotations

import pytest
from neutron_server import NeutronServer

from examples.acceptance.systems import SYSTEMS, System, World
from kubewright.api import core, meta
from kubewright.cluster import Cluster
from kubewright.crd import install
from kubewright.testing import operator_client


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: str(system.name))
async def test_the_generated_roles_are_enough(
    system: System, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with Cluster(workloads=True, rbac=True) as cluster, NeutronServer() as neutron, cluster.client() as admin:
        monkeypatch.setenv("NEUTRON_URL", neutron.url)
        monkeypatch.setenv("NEUTRON_TOKEN", "demo")
        for name in ("operators", "work"):
            await admin.create(core.Namespace(metadata=meta.ObjectMeta(name=name)))
        defines = bool(system.operator.settings.install_crds)
        if not defines:
            await install(admin, system.kind)
        client = await operator_client(cluster, system.operator, "operators")
        async with (
            client,
            system.operator.running(
                client, install_crds=defines, webhook_bind="0", leader_elect=True, lease_namespace="operators"
            ),
        ):
            world = World(admin, "work", neutron)
            for turn in range(3):
                await system.ask(world, turn)
                await system.done(world, turn)
    assert "forbidden" not in caplog.text.lower()
