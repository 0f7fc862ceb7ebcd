"""Both servers convert objects by webhooks in the same way; see README.md in ../admission."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubewright.client import Transport
from tests.cluster.admission.harness import HookScenario, check_alike, hook_scenarios
from tests.cluster.admission.hooks import HookServer
from tests.yaml_files import load_yaml

HERE = Path(__file__).parent
SCENARIOS = hook_scenarios(HERE / "scenarios")
KNOWN = load_yaml(HERE / "known_differences.yaml")


@pytest.mark.promise("Webhooks of the embedded cluster", "Objects are converted by webhooks as by the real server.")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: f"{scenario.file}: {scenario.name}")
async def test_both_servers_convert_the_same(scenario: HookScenario, real: Transport, hooks: HookServer) -> None:
    await check_alike(scenario, real, hooks, KNOWN)


def test_every_known_difference_has_a_scenario() -> None:
    assert {entry["scenario"] for entry in KNOWN} <= {scenario.name for scenario in SCENARIOS}
