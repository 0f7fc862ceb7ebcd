"""Both servers convert objects by webhooks in the same way; see README.md in ../admission."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from kubewright.client import Transport, load_config
from kubewright.client._http import HttpTransport
from kubewright.clock import SystemClock
from kubewright.cluster import Cluster
from kubewright.testing import ControlPlane
from tests.cluster.admission.harness import HookRun, HookScenario, hook_scenarios
from tests.cluster.admission.hooks import HookServer
from tests.cluster.differential.harness import differences, ignored

HERE = Path(__file__).parent
SCENARIOS = hook_scenarios(HERE / "scenarios")
FAR = 1_000_000
KNOWN = yaml.safe_load((HERE / "known_differences.yaml").read_text())


@pytest_asyncio.fixture
async def real(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    transport = HttpTransport(load_config(kubeconfig=control_plane.kubeconfig), SystemClock())
    yield transport
    await transport.close()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: f"{scenario.file}: {scenario.name}")
async def test_both_servers_convert_the_same(scenario: HookScenario, real: Transport, hooks: HookServer) -> None:
    namespace = f"conv-{secrets.token_hex(4)}"
    async with Cluster(seed=scenario.name, controllers=False) as cluster:
        cluster.state.storage.revision = FAR
        embedded = await HookRun(cluster.transport(), namespace, server=hooks, side="e").with_hooks(scenario)
    expected = await HookRun(real, namespace, server=hooks, side="r").with_hooks(scenario)
    found = list(differences(embedded, expected, ""))
    known = [entry for entry in KNOWN if entry["scenario"] == scenario.name]
    for entry in known:
        assert entry["reason"]
        assert any(ignored([entry["difference"]])(difference) for difference in found), f"is gone: {entry}\n{found}"
    allowed = ignored([entry["difference"] for entry in known])
    left = [difference for difference in found if not allowed(difference)]
    assert left == [], "\n".join(left)


def test_every_known_difference_is_one_of_a_scenario() -> None:
    assert {entry["scenario"] for entry in KNOWN} <= {scenario.name for scenario in SCENARIOS}
