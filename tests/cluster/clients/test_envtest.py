"""A kubebuilder project's envtest suite passes on the embedded cluster, as on a real one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from kubewright.api.apiextensions import CustomResourceDefinition
from kubewright.cluster import Cluster
from kubewright.testing import RealCluster
from tests.cluster.clients.go_programs import BUILD_SECONDS
from tests.cluster.clients.processes import finished
from tests.go_programs import GoProgram

MODULE: Final = Path(__file__).parent / "envtest_module"
SUITE: Final = GoProgram(
    name="envtest-suite",
    module=MODULE,
    version="v0.25.2",
    package="./internal/controller",
    tests=True,
    digest_of_sources=True,
)
pytestmark = pytest.mark.control_plane
TESTS: Final = ("TestCopiesTheText", "TestRestoresADeletedCopy", "TestRejectsAnEmptyText")


@pytest.fixture(scope="module")
def suite() -> Path:
    """The program of the suite, built before the clusters start: a build would stop their event loop for minutes."""
    return SUITE.binary_for_test()


@pytest.mark.promise(
    "The embedded cluster", "Tests of controllers in Go that use envtest run on it with USE_EXISTING_CLUSTER."
)
@pytest.mark.timeout(BUILD_SECONDS + 200)
async def test_suite_of_a_kubebuilder_project_passes(suite: Path, served: Cluster, tmp_path: Path) -> None:
    await check(suite, served, tmp_path)


@pytest.mark.timeout(BUILD_SECONDS + 200)
async def test_suite_passes_on_the_real_cluster_too(suite: Path, real: RealCluster, tmp_path: Path) -> None:
    client = real.client()
    try:
        await check(suite, real, tmp_path)
    finally:  # other tests compare what the server has
        await client.delete(CustomResourceDefinition, "memos.notes.example.com")
        await client.wait_until_gone(CustomResourceDefinition, "memos.notes.example.com")


async def check(program: Path, cluster: Cluster | RealCluster, home: Path) -> None:
    """Runs the suite twice: the second time, its definitions exist already or were removed."""
    environment = {
        "USE_EXISTING_CLUSTER": "true",
        "KUBECONFIG": str(cluster.kubeconfig()),
        "HOME": str(home),
    }
    for _ in range(2):
        code, output, errors = await finished(
            "/usr/bin/env", "-C", MODULE / "internal" / "controller", program, "-test.v", environment=environment
        )
        assert code == 0, f"{output}\n{errors}"
        assert [name for name in TESTS if f"--- PASS: {name}" not in output] == []
