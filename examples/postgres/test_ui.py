"""Tests of the web page without a browser: the steps of a cluster, and the clusters of a team."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import deployment
import deployment_ui
import pytest
from postgres_operator.kinds import State
from postgres_operator.publishing import API_NAME, CERTIFICATE_KEY
from postgres_operator.ui import by_team, postgres, rest, steps_of
from worlds import NAMESPACE, minimal, new_world

from kubewright.api import core, meta
from kubewright.client import Forbidden
from kubewright.cluster import Cluster
from kubewright.manifests import compare
from kubewright.operator.endpoints import issue


def test_steps_follow_the_objects_of_a_cluster() -> None:
    cluster = minimal()
    assert [step.done for step in steps_of(cluster, None, [])] == [True, False, False, False, False]
    cluster.status.state = State.INVALID
    cluster.status.message = "metadata.name must start with the team"
    [first, *others] = steps_of(cluster, None, [])
    assert (first.done, first.detail) == (False, "metadata.name must start with the team")
    assert not any(step.done for step in others)


def test_own_clusters_are_those_of_a_group_of_the_viewer() -> None:
    mine, others = minimal("acid-a"), minimal("other-b")
    others.spec.team_id = "other"
    assert by_team([mine, others], ["ACID", "system:authenticated"]) == ([mine], [others])


def test_operator_does_not_import_the_web_page() -> None:
    code = (
        "import sys, postgres_operator.operator as it\n"
        "assert it.operator.console_extensions == ['postgres_operator.ui:postgres']\n"
        "loaded = [name for name in sys.modules if name.startswith(('nicegui', 'postgres_operator.ui'))]\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)


def test_pages_are_linked_from_the_navigation() -> None:
    assert [one.title for one in postgres.pages.values() if one.navigation] == ["Clusters", "Worker queues"]


def test_manifests_of_the_page_are_what_the_program_says() -> None:
    assert compare(deployment.CONFIG, deployment_ui.ui_files()) == []


async def test_account_of_the_page_reads_and_nothing_else() -> None:
    async with Cluster(rbac=True) as cluster, cluster.client() as client:
        await client.create(core.Namespace(metadata=meta.ObjectMeta(name=deployment.project.namespace)))
        for obj in deployment_ui.objects():
            await client.create(obj)
        user = f"system:serviceaccount:{deployment.project.namespace}:{deployment_ui.NAME}"
        async with cluster.client_as(user) as limited:
            await limited.list(core.Pod)
            for kind in (core.Secret, core.ConfigMap):
                with pytest.raises(Forbidden):
                    await limited.list(kind)
            with pytest.raises(Forbidden):
                await limited.create(core.ConfigMap(metadata=meta.ObjectMeta(name="x", namespace="default")))


@pytest.mark.parametrize(
    ("published", "message"),
    [
        ("none", "the operator has not published its certificate yet"),
        ("another", "its certificate is not the one that the operator has published"),
        ("its own", "status 401"),  # only now the token was sent, which the API server does not know
    ],
)
async def test_page_sends_its_token_only_to_the_operator(
    published: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, token = tmp_path / "tls.crt", tmp_path / "token"
    token.write_text("a.b.c")
    monkeypatch.setattr(rest, "TOKEN", token)
    monkeypatch.setenv("OPERATOR_API_CERTIFICATE", str(file))
    async with new_world() as world, world.operator(metrics_bind="127.0.0.1:0", metrics_secure=True) as running:
        [server] = [one for one in running.servers if one.certificate is not None]
        if published == "its own":
            file.write_bytes(server.certificate or b"")
        elif published == "another":
            file.write_bytes(issue("another", world.clock.now()).certificate)
        with pytest.raises(rest.OperatorUnreachable, match=message):
            await rest.read(f"https://localhost:{server.port}", "/status/")


async def test_leader_publishes_its_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_NAMESPACE", NAMESPACE)
    settings = {"metrics_bind": "127.0.0.1:0", "metrics_secure": True}
    async with new_world() as world:
        world.cluster.lab.fail(kind=core.ConfigMap, status=403)
        async with world.operator(**settings) as running:

            async def published() -> bool:
                found = await world.client.find(core.ConfigMap, API_NAME, NAMESPACE)
                served = [one.certificate for one in running.servers if one.certificate is not None]
                return found is not None and [(found.data or {})[CERTIFICATE_KEY].encode()] == served

            await world.clock.advance_until(published, limit=600)
