"""Failover for real: Patroni and PostgreSQL run in pods of a process node, and their primary disappears.

The pods come from a StatefulSet that is written in `patroni_pods`, so that these tests do not depend on the operator.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
import pytest_asyncio
from patroni_pods import NAME, PARAMETERS, PASSWORDS, PATRONI, PatroniPods, no_new_pods
from postgres_operator.database import Database, address_of, synchronize, wanted
from postgres_operator.patroni import Member, PatroniRefused, configuration
from postgres_server import marks
from relays import Relays
from waiting import until

from kubewright.api import core
from kubewright.cluster import Cluster
from kubewright.cluster.processes import Images
from kubewright.cluster.workloads import Workloads

pytestmark = [
    *marks,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.getuid() != 0, reason="mount namespaces and the user postgres need root"),
]
IMAGES = Path(__file__).with_name("images.toml")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pods() -> AsyncIterator[PatroniPods]:
    """Two pods, with RBAC: Patroni has the rights of its own service account alone."""
    async with Cluster(workloads=Workloads(processes=Images.read(IMAGES)), rbac=True) as cluster:
        parts = urlsplit(await cluster.serve())
        relays = Relays((parts.hostname or "", parts.port or 443), 2)
        await relays.start()
        try:
            made = PatroniPods(cluster.client(namespace="default"), relays)
            await made.create(2)
            yield made
        finally:
            await relays.stop()


async def test_bootstraps_a_primary_and_a_streaming_replica(pods: PatroniPods) -> None:
    members = await pods.healthy(2)
    assert sorted(each.role for each in members) == ["leader", "sync_standby"]
    roles = {pod.metadata.name: (pod.metadata.labels or {}).get("spilo-role") for pod in await pods.pods()}
    assert roles == {each.name: "master" if each.is_leader else "replica" for each in members}
    leader = await pods.leader()
    await pods.endpoints_follow(leader.name)


async def test_logs_in_through_the_services_with_the_password_of_the_secret(pods: PatroniPods) -> None:
    await pods.healthy(2)
    await pods.query("CREATE TABLE writes (number int PRIMARY KEY)")
    await pods.query("INSERT INTO writes VALUES (1)")

    async def replayed() -> bool:
        return await pods.query("SELECT number FROM writes", f"{NAME}-repl") == [(1,)]

    await until(replayed, "the write on the replica", every=0.2)
    assert await pods.query("SELECT pg_is_in_recovery()", f"{NAME}-repl") == [(True,)]
    assert await pods.query("SELECT pg_is_in_recovery()") == [(False,)]


async def test_the_database_is_synchronized_through_the_master_service(pods: PatroniPods) -> None:
    await pods.healthy(2)
    address = address_of(await pods.client.get(core.Service, NAME))
    assert address is not None
    target = wanted(NAME, users={"app": ["createdb"]}, databases={"shop": "app"}, passwords={"app": "x", **PASSWORDS})
    async with Database.connect(address, PASSWORDS["postgres"]) as database:
        assert await synchronize(database, target)
        assert not await synchronize(database, target)


async def test_a_reloaded_parameter_needs_no_restart(pods: PatroniPods) -> None:
    await pods.healthy(2)
    changed = configuration({**PARAMETERS, "work_mem": "7MB"}, PATRONI)
    async with pods.patroni() as patroni:
        assert await patroni.configure(changed)
        assert not await patroni.configure(changed)

    async def reloaded() -> bool:
        return [await pods.query("SHOW work_mem", service) for service in (NAME, f"{NAME}-repl")] == [[("7MB",)]] * 2

    await until(reloaded, "the reload of both members", every=0.5)
    assert not any(member.pending_restart for member in await pods.members())


async def test_a_parameter_that_needs_a_restart_is_pending_until_then(pods: PatroniPods) -> None:
    """The steps of a rolling restart: replicas first, then a switch-over, which restarts the former primary."""
    before = await pods.healthy(2)
    leader = next(each for each in before if each.is_leader)
    async with pods.patroni() as patroni:
        assert await patroni.configure(configuration({"max_connections": "50"}, PATRONI))

        async def pending() -> list[Member] | None:
            members = await patroni.members()
            return members if all(each.pending_restart for each in members) else None

        members = await until(pending, "members that need a restart", every=0.5)
        (replica,) = [each for each in members if not each.is_leader]
        await patroni.restart(replica)
        await patroni.restart(replica)  # it needs none any more, so nothing happens
        await patroni.restart(leader)  # a primary is not restarted: it is switched over
        members = await pods.healthy(2)
        assert [each.name for each in members if each.pending_restart] == [leader.name]
        await patroni.switchover(leader.name, replica.name)
        with pytest.raises(PatroniRefused, match="leader name does not match"):
            await patroni.switchover(leader.name, replica.name)
    members = await pods.healthy(2)
    assert next(each for each in members if each.is_leader).name == replica.name
    for service in (NAME, f"{NAME}-repl"):
        assert await pods.query("SHOW max_connections", service) == [("50",)]
        assert await pods.query("SHOW work_mem", service) == [("4MB",)], "a removed parameter has its default again"


async def other_primary(pods: PatroniPods, lost: str, number: int) -> None:
    """Waits for the promoted replica: it has the writes before, the Endpoints follow it, and it accepts others."""
    promoted = await pods.leader(other_than=lost)
    await pods.endpoints_follow(promoted.name)
    found = await pods.query("SELECT max(number) FROM writes")
    assert found == [(number,)]
    await pods.query(f"INSERT INTO writes VALUES ({number + 1})")


async def same_everywhere(pods: PatroniPods) -> None:
    """Waits until the former primary is a replica with the same rows: no write was lost, and none was invented."""
    await pods.healthy(2)
    rows = await pods.query("SELECT number FROM writes ORDER BY 1")

    async def equal() -> bool:
        return await pods.query("SELECT number FROM writes ORDER BY 1", f"{NAME}-repl") == rows

    await until(equal, "the rows of the replica", every=0.2)


async def write_on_primary(pods: PatroniPods) -> tuple[core.Pod, int]:
    """Writes a number through the master Service. Returns the primary's pod, and the number."""
    await pods.healthy(2)
    await pods.query("CREATE TABLE IF NOT EXISTS writes (number int PRIMARY KEY)")
    ((number,),) = await pods.query("SELECT coalesce(max(number), 0) + 1 FROM writes")
    await pods.query(f"INSERT INTO writes VALUES ({number})")
    leader = await pods.leader()
    return await pods.client.get(core.Pod, leader.name), number


@pytest.mark.promise("Postgres example", "A replica that replaces a killed primary has every acknowledged write.")
async def test_a_replica_with_all_writes_replaces_a_killed_primary(pods: PatroniPods) -> None:
    primary, number = await write_on_primary(pods)
    async with no_new_pods(pods.client):  # as if the machine of the primary were lost
        pods.signal(primary, signal.SIGKILL)
        await pods.client.delete(core.Pod, primary.metadata.name, grace_period_seconds=0)
        await other_primary(pods, primary.metadata.name, number)
    await same_everywhere(pods)


async def test_a_replica_replaces_a_frozen_primary_which_then_follows(pods: PatroniPods) -> None:
    primary, number = await write_on_primary(pods)
    pods.signal(primary, signal.SIGSTOP)
    try:
        await other_primary(pods, primary.metadata.name, number)
    finally:
        pods.signal(primary, signal.SIGCONT)
    await same_everywhere(pods)


async def test_a_primary_without_the_api_server_stops_writing_and_is_replaced(pods: PatroniPods) -> None:
    primary, number = await write_on_primary(pods)
    index = int(primary.metadata.name.rpartition("-")[2])
    await pods.relays.cut(index)
    try:
        await other_primary(pods, primary.metadata.name, number)
        # Patroni demotes it on its own: it accepts no write that the new primary does not know.
        assert await read_only(primary)
    finally:
        assert await pods.relays.restore(index)
    await same_everywhere(pods)


async def read_only(pod: core.Pod) -> bool:
    """Waits until a server at a pod's own address is read-only or does not answer."""

    async def check() -> bool:
        try:
            async with await psycopg.AsyncConnection.connect(
                host=pod.status.pod_ip, user="postgres", password=PASSWORDS["postgres"], connect_timeout=5
            ) as connection:
                row = await (await connection.execute("SELECT pg_is_in_recovery()")).fetchone()
                return row == (True,)
        except psycopg.OperationalError:
            return True

    return await until(check, "the end of the primary", every=0.2)
