"""The two doors of the embedded cluster, in-process and HTTPS, give the same answers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kubewright.client import Credentials, HttpTransport, load_config
from kubewright.clock import SystemClock
from kubewright.cluster import Cluster
from kubewright.cluster.access import user_named
from tests.cluster.differential.harness import Run, Scenario, differences, scenarios

FILES = ("paths", "watches", "rbac_impersonation", "rbac_tokens")
CHOSEN = [scenario for scenario in scenarios() if scenario.file in FILES]


@pytest.mark.parametrize("scenario", CHOSEN, ids=lambda scenario: f"{scenario.file}: {scenario.name}")
async def test_both_doors_lead_to_the_same_answers(scenario: Scenario) -> None:
    settings: dict[str, Any] = {"seed": 1, "controllers": False, "rbac": True}
    async with Cluster(**settings) as one, Cluster(**settings) as other:
        await other.serve()
        config = load_config(kubeconfig=other.kubeconfig())
        transport = HttpTransport(config, SystemClock())
        stranger = HttpTransport(replace(config, credentials=Credentials()), SystemClock())
        try:
            inside = await Run(one.transport(), "same", one.transport(user_named("system:anonymous"))).play(scenario)
            outside = await Run(transport, "same", stranger).play(scenario)
        finally:
            await transport.close()
            await stranger.close()
    assert list(differences(inside, outside)) == []
