"""The operator with real pods: a manifest becomes a cluster that answers SQL, and stays available while it changes."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
import pytest_asyncio
from patroni_pods import PATRONI, Pods
from postgres_operator.kinds import Postgresql, State
from postgres_operator.operator import operator
from postgres_server import installed_versions, marks
from waiting import until

from kubewright.api import core, from_dict, from_yaml, is_condition_true, to_dict
from kubewright.client import MergePatch, NotFound
from kubewright.cluster import Cluster
from kubewright.cluster.processes import Images
from kubewright.cluster.workloads import Workloads

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

    async def until(self, check: Callable[[], Awaitable[bool]], what: str) -> None:
        """Waits for a condition. A failure shows what the operator says."""
        try:
            await until(check, what, every=0.5)
        except AssertionError as error:
            status = (await self.get()).status
            pods = {
                pod.metadata.name: (is_condition_true(pod.status, "Ready"), pod.metadata.deletion_timestamp)
                for pod in await self.pods()
            }
            said = "\n".join([f"{status.state}: {status.message}", f"{pods}", *(await self.events())[-20:]])
            raise AssertionError(f"{error}\n{said}") from None

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


async def write(pods: Operated) -> int:
    """Writes a number through the master Service, and returns it."""
    async with pods.login(user="zalando", database="foo") as connection:
        await connection.execute("CREATE TABLE IF NOT EXISTS writes (number int PRIMARY KEY)")
        cursor = await connection.execute(
            "INSERT INTO writes SELECT coalesce(max(number), 0) + 1 FROM writes RETURNING number"
        )
        row = await cursor.fetchone()
        assert row is not None
        return int(row[0])


async def numbers(pods: Operated, service: str = "") -> list[int]:
    """Returns the numbers that were written."""
    async with pods.login(service, user="zalando", database="foo") as connection:
        cursor = await connection.execute("SELECT number FROM writes ORDER BY 1")
        return [number for (number,) in await cursor.fetchall()]


async def test_a_lost_secret_returns_with_a_password_that_works(pods: Operated) -> None:
    await pods.running()
    name = pods.secret_of("foo_user")
    before = (await pods.client.get(core.Secret, name)).data
    await pods.client.delete(core.Secret, name)

    async def works() -> bool:
        try:
            async with pods.login(user="foo_user", database="foo"):
                return True
        except (NotFound, psycopg.OperationalError):
            return False

    await until(works, "a login with the new password", every=0.5)
    assert (await pods.client.get(core.Secret, name)).data != before


async def applied(pods: Operated, connections: str) -> None:
    """Waits until both members have the parameter, and no restart is pending."""

    async def check() -> bool:
        values = [await pods.query("SHOW max_connections", service) for service in ("", f"{NAME}-repl")]
        return values == [[(connections,)], [(connections,)]]

    await until(check, f"max_connections {connections} on both members", every=1.0)
    assert not any(each.pending_restart for each in await pods.healthy(2))


async def restarts(pods: Operated) -> list[str]:
    """Returns the reasons of the operator's restarts and switch-overs until now, with the member."""
    found = [each for each in await pods.events() if each.startswith(("Restarting", "Switchover"))]
    return [" ".join(each.split()[:1] + [word for word in each.split() if word.startswith(NAME)][:1]) for each in found]


async def test_a_larger_value_restarts_replicas_first_and_switches_over(pods: Operated) -> None:
    await pods.running()
    number = await write(pods)
    old = next(each.name for each in await pods.healthy(2) if each.is_leader)
    (replica,) = [each.name for each in await pods.healthy(2) if each.name != old]
    await pods.change(postgresql={"parameters": {"max_connections": "110", "work_mem": "9MB"}})
    await applied(pods, "110")
    assert await pods.query("SHOW work_mem") == [("9MB",)]
    assert await restarts(pods) == [f"Restarting: {replica}", f"Switchover: {old}"]
    assert (await pods.leader()).name == replica
    assert number in await numbers(pods)


async def test_a_smaller_value_restarts_the_primary_first(pods: Operated) -> None:
    await pods.running()
    leader = await pods.leader()
    await pods.change(postgresql={"parameters": {"max_connections": "60"}})
    await applied(pods, "60")
    assert (await pods.leader()).name == leader.name, "the primary was restarted, not switched over"
    message = f"Restarting: restarting {leader.name} first: replicas need at least its values"
    assert message in [each for each in await pods.events() if each.startswith(("Restarting", "Switchover"))]


@pytest.mark.promise("Postgres example", "A primary that is killed during a rolling update loses no write.")
async def test_a_primary_is_killed_during_a_rolling_update(pods: Operated) -> None:
    await pods.running()
    number = await write(pods)
    members = await pods.healthy(2)
    old = next(each.name for each in members if each.is_leader)
    primary = await pods.client.get(core.Pod, old)
    changed = await pods.change(podAnnotations={"example.com/round": "1"})

    async def replaced() -> bool:
        pods_now = {pod.metadata.name: pod for pod in await pods.pods()}
        return any("example.com/round" in (pod.metadata.annotations or {}) for pod in pods_now.values())

    await until(replaced, "the first replaced replica", every=0.05)
    assert "example.com/round" not in ((await pods.client.get(core.Pod, old)).metadata.annotations or {})
    pods.signal(primary, signal.SIGKILL)

    async def updated() -> bool:
        found = await pods.pods()
        return len(found) == 2 and all("example.com/round" in (pod.metadata.annotations or {}) for pod in found)

    await pods.until(updated, "the update of all pods")
    await pods.healthy(2)
    await pods.running(changed.metadata.generation)
    assert number in await numbers(pods)
    assert await write(pods) > number


async def test_scales_up_and_down_without_losing_the_primary(pods: Operated) -> None:
    await pods.running()
    number = await write(pods)
    await pods.change(numberOfInstances=3)
    await pods.healthy(3)
    changed = await pods.change(numberOfInstances=1)

    async def alone() -> bool:
        return len(await pods.pods()) == 1

    await until(alone, "a single pod", every=0.5)
    await pods.healthy(1)
    await pods.running(changed.metadata.generation)
    assert number in await numbers(pods)


@pytest.mark.promise("Postgres example", "A deleted cluster keeps its volumes; a new one of its name has the data.")
async def test_a_cluster_of_the_same_name_has_the_data_of_a_deleted_one(pods: Operated) -> None:
    cluster = await pods.running()
    written = await numbers(pods)
    await pods.client.delete(Postgresql, NAME)

    async def gone() -> bool:
        return not await pods.pods() and not await pods.client.list(Postgresql)

    await until(gone, "the deletion", every=0.5)
    assert await pods.client.list(core.PersistentVolumeClaim, labels={"cluster-name": NAME})
    again = to_dict(cluster)
    again["metadata"] = {"name": NAME, "namespace": "default"}
    again.pop("status", None)
    await pods.client.create(from_dict(Postgresql, again))
    await pods.running()
    assert await numbers(pods) == written
