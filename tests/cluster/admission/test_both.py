"""Both servers call webhooks in the same way and return the same responses; see README.md beside this file."""

from __future__ import annotations

import pytest

from kubewright.client import Transport
from tests.cluster.admission.harness import HERE, HookScenario, check_alike, hook_scenarios
from tests.cluster.admission.hooks import HookServer
from tests.yaml_files import load_yaml

KNOWN = load_yaml(HERE / "known_differences.yaml")


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "Webhooks change, reject and fail writes as on the real server.",
)
@pytest.mark.promise("Webhooks of the embedded cluster", "Certificates are verified.")
@pytest.mark.parametrize("scenario", hook_scenarios(), ids=lambda scenario: f"{scenario.file}: {scenario.name}")
async def test_both_servers_send_and_return_the_same(
    scenario: HookScenario, real: Transport, hooks: HookServer
) -> None:
    await check_alike(scenario, real, hooks, KNOWN)


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "Webhooks change, reject and fail writes as on the real server.",
)
def test_every_known_difference_has_a_scenario() -> None:
    assert {entry["scenario"] for entry in KNOWN} <= {scenario.name for scenario in hook_scenarios()}
