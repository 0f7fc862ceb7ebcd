"""The operator with real pods: a manifest becomes a cluster that answers SQL, and stays available while it changes."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest
import pytest_asyncio
from operated import Operated, numbers, write
from patroni_pods import PATRONI, no_new_pods
from postgres_operator.kinds import Postgresql
from postgres_operator.operator import operator
from postgres_server import installed_versions, marks
from waiting import until

from kubewright.api import core, from_dict, from_yaml, to_dict
from kubewright.client import NotFound
from kubewright.cluster import Cluster
from kubewright.cluster.processes import Images
from kubewright.cluster.workloads import Workloads
from kubewright.pausing import PAUSE_ANNOTATION

pytestmark = [
    *marks,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.getuid() != 0, reason="mount namespaces and the user postgres need root"),
]
FOLDER = Path(__file__).parent
NAME = "acid-minimal-cluster"
ROUND = "example.com/round"


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


@pytest.mark.promise("Postgres example", "A clone has the data of a running cluster, and passwords of its own.")
async def test_a_clone_has_the_data_and_its_own_passwords(pods: Operated) -> None:
    source = await pods.running()
    number = await write(pods)
    manifest = to_dict(source)
    manifest["metadata"] = {"name": "acid-copy", "namespace": "default"}
    manifest["spec"] |= {"numberOfInstances": 1, "clone": {"cluster": NAME, "uid": source.metadata.uid}}
    manifest["spec"]["users"]["reporter"] = []
    manifest.pop("status", None)
    await pods.client.create(from_dict(Postgresql, manifest))
    copy = Operated(pods.client, "acid-copy")
    try:
        await copy.running()
        assert number in await numbers(copy)
        for user in ("postgres", "zalando", "reporter"):
            async with copy.login(user=user, database="foo"):
                pass
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            async with copy.login(user="zalando", database="foo", secret=pods.secret_of("zalando")):
                pass
        assert await write(copy) > number
        assert await numbers(pods) == [each for each in await numbers(copy) if each <= number], (
            "the source is as it was"
        )
    finally:
        await pods.client.delete(Postgresql, "acid-copy")


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


@pytest.mark.promise("Postgres example", "A cluster whose superuser Secrets are all lost gets new ones that work.")
async def test_lost_secrets_of_the_superuser_return_with_a_password_that_works(pods: Operated) -> None:
    await pods.running()
    number = await write(pods)
    names = [pods.secret_of("postgres"), f"{NAME}.data.credentials.postgresql.acid.zalan.do"]
    before = (await pods.client.get(core.Secret, names[0])).data
    old = {pod.metadata.uid for pod in await pods.pods()}
    await pods.annotate(PAUSE_ANNOTATION, "true")  # otherwise, the operator restores one from the other
    for name in names:
        await pods.client.delete(core.Secret, name)
    await pods.annotate(PAUSE_ANNOTATION, None)

    async def works() -> bool:
        with contextlib.suppress(NotFound, psycopg.OperationalError):
            async with pods.login():
                return True
        return False

    await until(works, "a login with the new password", every=0.5)
    assert (await pods.client.get(core.Secret, names[0])).data != before

    async def replaced() -> bool:
        return old.isdisjoint(pod.metadata.uid for pod in await pods.pods())

    await pods.until(replaced, "pods with the new password")
    await pods.healthy(2)
    await pods.running()
    assert any(each.startswith("AccessRestored") for each in await pods.events())
    assert number in await numbers(pods)


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
    earlier = len(await restarts(pods))
    old = next(each.name for each in await pods.healthy(2) if each.is_leader)
    (replica,) = [each.name for each in await pods.healthy(2) if each.name != old]
    await pods.change(postgresql={"parameters": {"max_connections": "110", "work_mem": "9MB"}})
    await applied(pods, "110")
    assert await pods.query("SHOW work_mem") == [("9MB",)]
    assert (await restarts(pods))[earlier:] == [f"Restarting: {replica}", f"Switchover: {old}"]
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
    old = next(each for each in await pods.healthy(2) if each.is_leader)
    primary = await pods.client.get(core.Pod, old.name)
    changed = await pods.change(podAnnotations={ROUND: "1"})

    async def replaced() -> bool:
        return any(ROUND in pod.metadata.annotations for pod in await pods.pods())

    await until(replaced, "the first replaced replica", every=0.05)
    await pods.annotate(PAUSE_ANNOTATION, "true")  # the switch-over waits until the primary is killed
    await pods.healthy(2)
    async with no_new_pods(pods.client):  # as if the machine of the primary were lost
        pods.signal(primary, signal.SIGKILL)
        await pods.client.delete(core.Pod, old.name, grace_period_seconds=0)
        await pods.annotate(PAUSE_ANNOTATION, None)
        promoted = await pods.leader(other_than=old.name, after=old.timeline)
        assert ROUND in (await pods.client.get(core.Pod, promoted.name)).metadata.annotations
        assert number in await numbers(pods)
        number = await write(pods)

    async def updated() -> bool:
        found = await pods.pods()
        return len(found) == 2 and all(ROUND in pod.metadata.annotations for pod in found)

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
