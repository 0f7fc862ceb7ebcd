"""The two doors of the embedded cluster, in-process and HTTPS, give the same answers."""

from __future__ import annotations

import pytest

from kubewright.client import load_config
from kubewright.client._http import HttpTransport
from kubewright.clock import SystemClock
from kubewright.cluster import Cluster
from tests.cluster.differential.harness import Run, Scenario, differences, scenarios

CHOSEN = [scenario for scenario in scenarios() if scenario.file in ("paths", "watches")]


@pytest.mark.parametrize("scenario", CHOSEN, ids=lambda scenario: f"{scenario.file}: {scenario.name}")
async def test_both_doors_lead_to_the_same_answers(scenario: Scenario) -> None:
    async with Cluster(seed=1, controllers=False) as one, Cluster(seed=1, controllers=False) as other:
        await other.serve()
        transport = HttpTransport(load_config(kubeconfig=other.kubeconfig()), SystemClock())
        try:
            inside = await Run(one.transport(), "same").play(scenario)
            outside = await Run(transport, "same").play(scenario)
        finally:
            await transport.close()
    assert list(differences(inside, outside)) == []
