"""The embedded cluster and the real kube-apiserver answer the same; see README.md beside this file."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from kubewright.client import Credentials, HttpTransport, Transport, load_config
from kubewright.clock import SystemClock
from kubewright.cluster import Cluster
from kubewright.cluster.access import user_named
from kubewright.testing import ControlPlane
from tests.cluster.differential.harness import HERE, Run, Scenario, differences, ignored, scenarios
from tests.yaml_files import load_yaml

KNOWN: dict[str, Any] = load_yaml(HERE / "known_differences.yaml")
FAR = 1_000_000  # the embedded revisions begin here, so that none of them is some other number by chance


@pytest_asyncio.fixture
async def real_stranger(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    config = replace(load_config(kubeconfig=control_plane.kubeconfig), credentials=Credentials())
    transport = HttpTransport(config, SystemClock())
    yield transport
    await transport.close()


@pytest.mark.promise(
    "The embedded cluster",
    "It answers as the real server does: status codes, bodies, managed fields, watch events.",
)
@pytest.mark.promise(
    "The embedded cluster",
    "Invalid objects of built-in kinds are rejected with the field and the message of the real server.",
)
@pytest.mark.promise(
    "CEL",
    "A misspelled field in a rule is refused when the definition is written, in the words of the real server.",
)
@pytest.mark.promise("CEL", "Rules of custom resources are evaluated as by the real server, with its messages.")
@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: f"{scenario.file}: {scenario.name}")
async def test_both_servers_answer_the_same(scenario: Scenario, real: Transport, real_stranger: Transport) -> None:
    namespace = f"diff-{secrets.token_hex(4)}"
    async with Cluster(seed=scenario.name, controllers=False, rbac=True) as cluster:
        cluster.state.storage.revision = FAR
        stranger = cluster.transport(user_named("system:anonymous"))
        embedded = await Run(cluster.transport(), namespace, stranger).play(scenario)
    expected = await Run(real, namespace, real_stranger).play(scenario)
    found = list(differences(embedded, expected, ""))
    everywhere = ignored([entry["difference"] for entry in KNOWN["everywhere"]])
    found = [difference for difference in found if not everywhere(difference)]
    known = [entry for entry in KNOWN["scenarios"] if entry["scenario"] == scenario.name]
    for entry in known:
        assert any(ignored([entry["difference"]])(difference) for difference in found), (
            f"this difference is gone; remove it from known_differences.yaml: {entry}\n" + "\n".join(found)
        )
    allowed = ignored([entry["difference"] for entry in known])
    left = [difference for difference in found if not allowed(difference)]
    steps = {answer["step"]: index for index, answer in enumerate(embedded)}
    assert left == [], f"steps {steps}\n" + "\n".join(left)


@pytest.mark.promise("The embedded cluster", "Each known difference has a reason, and goes when it is gone.")
def test_every_known_difference_has_a_reason_and_a_scenario() -> None:
    names = {scenario.name for scenario in scenarios()}
    for entry in KNOWN["everywhere"]:
        assert entry["reason"]
    for entry in KNOWN["scenarios"]:
        assert entry["reason"]
        assert entry["scenario"] in names
