"""Tests of the web page without a browser: the steps of a cluster, and the clusters of a team."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import deployment_ui
import pytest
from postgres_operator.kinds import State
from postgres_operator.ui import by_team, postgres, steps_of
from worlds import minimal

import deployment
from kubewright.api import core, meta
from kubewright.client import Forbidden
from kubewright.cluster import Cluster
from kubewright.manifests import compare


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
