"""The operator with real pods: a manifest becomes a cluster that answers SQL, and stays available while it changes."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from patroni_pods import PATRONI, Pods
from postgres_operator.kinds import Postgresql, State
from postgres_operator.operator import operator
from postgres_server import installed_versions, marks

from kubewright.api import core, from_dict, from_yaml, to_dict
from kubewright.client import MergePatch
from kubewright.cluster import Cluster
from kubewright.cluster.processes import Images
from kubewright.cluster.workloads import Workloads
from tests.patience import until

pytestmark = [
    *marks,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.getuid() != 0, reason="mount namespaces and the user postgres need root"),
]
FOLDER = Path(__file__).parent
NAME = "acid-minimal-cluster"


class Operated(Pods):
    """The cluster of upstream's minimal manifest, run by the operator."""

    async def get(self) -> Postgresql:
        """Returns the custom resource."""
        return await self.client.get(Postgresql, self.name)

    async def change(self, **spec: Any) -> Postgresql:
        """Changes the spec."""
        return await self.client.patch(Postgresql, self.name, MergePatch({"spec": spec}))

    async def running(self, generation: int | None = None) -> Postgresql:
        """Waits until the operator reports that the cluster is as its spec says."""

        async def check() -> Postgresql | None:
            found = await self.get()
            assert found.status.state is not State.INVALID, found.status.message
            is_current = found.status.observed_generation == (generation or found.metadata.generation)
            return found if found.status.state is State.RUNNING and is_current else None

        return await until(check, "the state Running", every=0.5)

    async def events(self) -> list[str]:
        """Returns the reasons and messages of the cluster's events, in order."""
        found = [each for each in await self.client.list(core.Event) if each.involved_object.name == self.name]
        return [f"{each.reason}: {each.message}" for each in found]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pods() -> AsyncIterator[Operated]:
    """The operator, and a cluster with two instances."""
    images = Images.read(FOLDER / "images.toml")
    async with Cluster(workloads=Workloads(processes=images), rbac=True) as cluster:
        await cluster.serve()
        admin = cluster.client(namespace="default")
        async with operator.running(cluster.client_as("operator", "system:masters")):
            manifest = to_dict(from_yaml(Postgresql, (FOLDER / "manifests" / "minimal.yaml").read_text()))
            manifest["metadata"]["namespace"] = "default"
            manifest["spec"] |= {"postgresql": {"version": installed_versions()[-1]}, "patroni": PATRONI}
            await admin.create(from_dict(Postgresql, manifest))
            yield Operated(admin, NAME)


@pytest.mark.promise("Postgres example", "A manifest becomes a cluster that answers SQL with the Secret's password.")
async def test_a_manifest_becomes_a_cluster_that_answers_sql(pods: Operated) -> None:
    await pods.running()
    async with pods.login(user="zalando", database="foo") as connection:
        await connection.execute("CREATE TABLE writes (number int PRIMARY KEY)")
        await connection.execute("INSERT INTO writes VALUES (1)")
    async with pods.login(user="foo_user", database="bar") as connection:
        row = await (await connection.execute("SELECT current_user")).fetchone()
    assert row == ("foo_user",)
    assert await pods.query("SELECT pg_is_in_recovery()", f"{NAME}-repl") == [(True,)]
