"""Tests of the operator as a program: its roles, its manifests and its REST API."""

from __future__ import annotations

import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import deployment
import msgspec
import pytest
from postgres_operator.kinds import CONFIGURATION_NAME, OperatorConfiguration, Postgresql, State
from postgres_operator.operator import engine, operator
from postgres_operator.simulated import SimulatedEngine
from worlds import NAMESPACE, World, minimal

import kubewright as kw
from kubewright.api import apiextensions, core, meta
from kubewright.client import NotFound
from kubewright.cluster import Cluster
from kubewright.crd import install
from kubewright.manifests import compare
from kubewright.operator import PageRequest
from kubewright.testing import operator_client

pytest_plugins = ["postgres_fixtures"]

NAME = "acid-minimal-cluster"


def test_manifests_are_what_the_program_says() -> None:
    assert compare(deployment.CONFIG, deployment.configuration_files()) == []
    command = [
        sys.executable,
        "-m",
        "kubewright.cli",
        "manifests",
        "deployment.py",
        "--package",
        "kustomize",
        "--check",
    ]
    ended = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_each_file_fits_on_a_few_screens() -> None:
    for file in Path(__file__).parent.rglob("*.py"):
        assert len(file.read_text().splitlines()) < 300, file.name


async def test_installs_the_definition_of_clusters_itself() -> None:
    async with Cluster() as cluster, cluster.client() as client:
        await install(client, OperatorConfiguration)  # as the tutorial does
        with pytest.raises(NotFound):
            await client.get(apiextensions.CustomResourceDefinition, "postgresqls.acid.zalan.do")
        async with operator.running(client):
            made = await client.get(apiextensions.CustomResourceDefinition, "postgresqls.acid.zalan.do")
            assert made.spec.names.short_names == ["pg"]


async def test_generated_roles_are_enough(caplog: pytest.LogCaptureFixture) -> None:
    simulated = SimulatedEngine({})
    async with Cluster(workloads=True, rbac=True) as cluster, cluster.client() as admin:
        for name in (deployment.project.namespace, "work"):
            await admin.create(core.Namespace(metadata=meta.ObjectMeta(name=name)))
        await install(admin, OperatorConfiguration)
        metadata = meta.ObjectMeta(name=CONFIGURATION_NAME, namespace=deployment.project.namespace)
        await admin.create(OperatorConfiguration(metadata=metadata))
        client = await operator_client(cluster, operator, deployment.project.namespace)
        replace = [engine.replaced_by(simulated)]
        async with simulated.operator().running(admin), client, operator.running(client, replace=replace):
            made = minimal()
            made.metadata.namespace = "work"
            await admin.create(made)

            def runs(found: Postgresql) -> bool:
                return (
                    found.status.state is State.RUNNING
                    and found.status.observed_generation == found.metadata.generation
                )

            await admin.wait_for(Postgresql, NAME, runs, "work")
            change = kw.client.MergePatch({"spec": {"dockerImage": "spilo:new", "numberOfInstances": 1}})
            await admin.patch(Postgresql, NAME, change, "work")
            await admin.wait_for(Postgresql, NAME, runs, "work")
            await admin.delete(Postgresql, NAME, "work")
            await admin.wait_until_gone(Postgresql, NAME, "work")
    assert "forbidden" not in caplog.text.lower()


async def page(running: kw.Running, path: str) -> tuple[int, Any]:
    """Returns the status and the content of a page, as the server asks for it."""
    first, _, below = path.removeprefix("/").partition("/")
    answer = await operator.pages[f"/{first}"](running, PageRequest(f"/{below}".rstrip("/")))
    return answer.status, msgspec.json.decode(answer.body) if answer.status == 200 else answer.body.decode()


async def test_rest_api_has_the_paths_of_upstream(world: World) -> None:
    async with world.operator() as running:
        await world.client.create(minimal())
        await world.until_state(State.RUNNING)
        await world.clock.settled()
        status, content = await page(running, "/status/")
        assert (status, content["Clusters"], len(content["WorkerQueueSize"])) == (200, 1, 8)
        assert sum(content["WorkerQueueSize"].values()) == len((await page(running, "/workers/all/queue"))[1]["Keys"])
        queues = [(await page(running, f"/workers/{number}/queue"))[1]["Keys"] for number in range(8)]
        assert sorted(chain(*queues)) == (await page(running, "/workers/all/queue"))[1]["Keys"]
        assert (await page(running, "/clusters/"))[1] == {"acid": [f"{NAMESPACE}/{NAME}"]}
        _, cluster = await page(running, f"/clusters/{NAMESPACE}/{NAME}/")
        assert cluster["status"]["PostgresClusterStatus"] == "Running"
        status, lines = await page(running, f"/clusters/{NAMESPACE}/{NAME}/logs/")
        assert status == 200
        assert lines == (await page(running, "/workers/all/logs"))[1]


async def test_rest_api_names_the_log_lines_of_a_cluster(world: World) -> None:
    async with world.operator() as running:
        world.engine.is_unreachable = True
        await world.client.create(minimal())
        await world.until(lambda found: "cannot connect" in (found.status.message or ""))
        _, lines = await page(running, f"/clusters/{NAMESPACE}/{NAME}/logs/")
        assert lines[-1]["ClusterName"] == f"{NAMESPACE}/{NAME}"
        assert any("cannot connect to postgres" in line["Message"] for line in lines)


@pytest.mark.parametrize(
    "path", ["/status/x", "/workers/8/queue", "/workers/-1/queue", "/workers/²/logs", "/workers/1/x", "/clusters/a/b/"]
)
async def test_rest_api_does_not_know_other_paths(world: World, path: str) -> None:
    async with world.operator() as running:
        assert (await page(running, path))[0] == 404


def test_rest_api_is_protected_like_metrics() -> None:
    from kubewright.operator.endpoints import sites_of

    [site] = sites_of(operator, operator.running(metrics_bind="0.0.0.0:8080"))
    assert (site.secure, sorted(site.pages)) == (True, ["/clusters", "/metrics", "/status", "/workers"])
