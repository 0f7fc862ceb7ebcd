"""Tests of interruptions: the operator is killed between each two writes, and others delete parts of a cluster."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from postgres_operator.kinds import Postgresql, State
from worlds import NAMESPACE, World, content, minimal, new_world

import kubewright as kw
from kubewright.api import apps, core, policy, rbac
from kubewright.cluster.laboratory import Served
from kubewright.crd import crd_of
from kubewright.operator import Killed

pytest_plugins = ["postgres_fixtures"]

NAME = "acid-minimal-cluster"
NEEDED = {"statefulsets", "volumes", "disruptions"}
"""The controllers that write objects that the operator reads or owns. Each run starts only these, to take less time."""
SUFFIX = f"{NAME}.credentials.postgresql.acid.zalan.do"


async def story(nth: int | None = None) -> tuple[dict[str, Any], int]:
    """Creates and changes a cluster. The operator is killed before its nth write, and started again an hour later.

    Returns the final state, and the number of writes.
    """
    async with new_world(controllers=NEEDED) as world:
        runs = [world.operator()]
        world.cluster.lab.on_request(lambda _: runs[-1].kill(), user="operator", verb="write", nth=nth or 1_000_000)

        async def is_done(state: State = State.RUNNING) -> bool:
            if runs[-1].killed:
                return True
            found = [one async for one in world.client.list(Postgresql, NAMESPACE)]
            return all(
                one.status.state is state and one.status.observed_generation == one.metadata.generation for one in found
            )

        async def work() -> None:
            with contextlib.suppress(Killed):
                async with runs[-1]:
                    for spec in ({}, {"numberOfInstances": 2, "dockerImage": "spilo:new"}):
                        if not [one async for one in world.client.list(Postgresql, NAMESPACE)]:
                            await world.client.create(minimal(number_of_instances=1))
                        elif spec:
                            await world.patch({"spec": spec})
                        await world.clock.advance_until(is_done, limit=3600)

        await work()
        if runs[-1].killed:
            await world.clock.advance(3600)
            runs.append(world.operator())
            await work()
        writes = sum(entry.user == "operator" and entry.wrote for entry in world.cluster.lab.journal)
        return await content(world), writes


async def short_life(world: World) -> bool:
    """Runs an operator until its first write, or until the cluster runs. Returns whether it was killed."""
    run = world.operator()

    def kill(served: Served) -> None:
        if any(entry.wrote for entry in served.entries):
            run.kill()

    hook = world.cluster.lab.on_request(kill, when="after", user="operator", verb="write")

    def is_done(found: Postgresql) -> bool:
        current = found.status.observed_generation == found.metadata.generation
        return run.killed or (found.status.state is State.RUNNING and current)

    with contextlib.suppress(Killed):
        async with run:
            await world.until(is_done)
    hook.end()
    return run.killed


async def short_lives() -> tuple[dict[str, Any], int]:
    """Creates and changes a cluster with operators that are killed after each write.

    Returns the final state, and the number of operators.
    """
    lives = 0
    async with new_world(controllers=NEEDED) as world:
        await world.client.create(crd_of(Postgresql))
        await world.client.create(minimal(number_of_instances=1))
        for spec in ({}, {"numberOfInstances": 2, "dockerImage": "spilo:new"}):
            await world.patch({"spec": spec})
            killed = True
            while killed:
                lives += 1
                killed = await short_life(world)
                await world.clock.advance(10)
        return await content(world), lives


@pytest.mark.promise("Postgres example", "An operator that is killed after any write converges after a restart.")
async def test_converges_when_killed_between_each_two_writes() -> None:
    wanted, writes = await story()
    assert (wanted["state"], wanted["instances"], wanted["images"]) == (State.RUNNING, 2, {"spilo:new"})
    found, lives = await short_lives()
    assert found == wanted
    assert lives > writes // 2, "each of them wrote once"
    for nth in range(3, writes + 1, 8):  # the same with an operator that lives on
        assert (await story(nth))[0] == wanted, f"killed before write {nth} of {writes}"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (core.Service, NAME),
        (core.Service, f"{NAME}-repl"),
        (core.Service, f"{NAME}-config"),
        (apps.StatefulSet, NAME),
        (policy.PodDisruptionBudget, f"postgres-{NAME}-pdb"),
        (core.ServiceAccount, f"postgres-pod-{NAME}"),
        (rbac.Role, f"postgres-pod-{NAME}"),
        (rbac.RoleBinding, f"postgres-pod-{NAME}"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
async def test_restores_what_others_delete(world: World, kind: type[kw.Object], name: str) -> None:
    async with world.operator():
        await world.client.create(minimal())
        await world.until_state(State.RUNNING)
        before = await world.client.get(kind, name, NAMESPACE)
        await world.client.delete(kind, name, NAMESPACE)

        async def restored() -> bool:
            found = [one async for one in world.client.list(kind, NAMESPACE) if one.metadata.name == name]
            return [one for one in found if one.metadata.uid != before.metadata.uid] != []

        await world.clock.advance_until(restored, limit=600)
        await world.until(lambda found: found.status.state is State.RUNNING and found.status.message is None)
        assert len(await world.pods()) == 2


async def test_lost_secret_of_a_user_gets_a_new_password_in_the_database(world: World) -> None:
    async with world.operator():
        await world.client.create(minimal())
        await world.until_state(State.RUNNING)
        [database] = world.engine.databases
        before = database.passwords["foo_user"]
        await world.client.delete(core.Secret, f"foo-user.{SUFFIX}", NAMESPACE)
        await world.clock.advance(10)
        assert database.passwords["foo_user"] not in (None, before)
        await content(world)  # Secrets and database agree


async def test_lost_secret_and_unreachable_database_are_repaired_later(world: World) -> None:
    async with world.operator():
        await world.client.create(minimal())
        await world.until_state(State.RUNNING)
        world.engine.is_unreachable = True
        await world.client.delete(core.Secret, f"foo-user.{SUFFIX}", NAMESPACE)
        failed = await world.until_state(State.SYNC_FAILED)
        assert "cannot connect to postgres" in (failed.status.message or "")
        world.engine.is_unreachable = False
        await world.until_state(State.RUNNING)
        await content(world)


@pytest.mark.parametrize("user", ["postgres", "standby"])
async def test_lost_secret_of_the_system_is_restored_unchanged(world: World, user: str) -> None:
    async with world.operator():
        await world.client.create(minimal())
        await world.until_state(State.RUNNING)
        before = (await world.client.get(core.Secret, f"{user}.{SUFFIX}", NAMESPACE)).data
        await world.client.delete(core.Secret, f"{user}.{SUFFIX}", NAMESPACE)
        await world.clock.advance(10)
        assert (await world.client.get(core.Secret, f"{user}.{SUFFIX}", NAMESPACE)).data == before
        await world.client.delete(core.Secret, f"{NAME}.data.credentials.postgresql.acid.zalan.do", NAMESPACE)
        await world.clock.advance(10)
        kept = await world.client.get(core.Secret, f"{NAME}.data.credentials.postgresql.acid.zalan.do", NAMESPACE)
        assert (kept.data or {})[user] == (before or {})["password"]
        assert (await world.get()).status.state is State.RUNNING


@pytest.mark.promise("Postgres example", "A cluster whose superuser Secrets are all lost gets new ones that work.")
async def test_lost_secrets_of_the_superuser_get_a_new_password_in_the_database(world: World) -> None:
    async with world.operator():
        await world.client.create(minimal())
        await world.until_state(State.RUNNING)
        [database] = world.engine.databases
        before, pods = database.superuser, {pod.metadata.uid for pod in await world.pods()}
    for name in (f"postgres.{SUFFIX}", f"{NAME}.data.credentials.postgresql.acid.zalan.do"):
        await world.client.delete(core.Secret, name, NAMESPACE)
    async with world.operator():
        await world.clock.advance(60)
        await world.until_state(State.RUNNING)
        assert database.superuser != before
        assert len(await world.events("AccessRestored")) == 1
        await content(world)  # Secrets and the database agree
        assert pods.isdisjoint(pod.metadata.uid for pod in await world.pods()), "they have the new password, too"


async def test_lost_volume_of_a_replica_is_replaced(world: World) -> None:
    async with world.operator():
        await world.client.create(minimal())
        await world.until_state(State.RUNNING)
        await world.client.delete(core.PersistentVolumeClaim, f"pgdata-{NAME}-1", NAMESPACE)
        await world.client.delete(core.Pod, f"{NAME}-1", NAMESPACE)
        await world.clock.advance(60)
        await world.until_state(State.RUNNING)
        names = [one.metadata.name async for one in world.client.list(core.PersistentVolumeClaim, NAMESPACE)]
        assert names == [f"pgdata-{NAME}-0", f"pgdata-{NAME}-1"]


async def test_wrong_password_is_reported_without_it(world: World, caplog: pytest.LogCaptureFixture) -> None:
    async with world.operator():
        await world.client.create(minimal())
        await world.until_state(State.RUNNING)
        [database] = world.engine.databases
        password, database.superuser = database.superuser, "another"
        world.engine.refuses_exec = True
        await world.patch({"spec": {"databases": {"more": "zalando"}}})
        failed = await world.until_state(State.UPDATE_FAILED)
        message = failed.status.message or ""
        assert "rejects the password of postgres, and it cannot be restored: psql in pod" in message
        assert message in await world.events("UpdateFailed")
        database.superuser = password
        await world.until_state(State.RUNNING)
    for secret in filter(None, (password, *database.passwords.values())):
        assert secret not in caplog.text


async def test_equal_users_of_two_clusters_have_their_own_passwords(world: World) -> None:
    async with world.operator():
        for name in ("acid-a", "acid-b"):
            await world.client.create(minimal(name))
        for name in ("acid-a", "acid-b"):
            await world.until_state(State.RUNNING, name)
        first, second = world.engine.databases
        assert first.passwords["foo_user"] != second.passwords["foo_user"]


async def test_removed_user_loses_login_and_secret(world: World) -> None:
    async with world.operator():
        await world.client.create(minimal())
        await world.until_state(State.RUNNING)
        await world.patch({"spec": {"users": {"foo_user": None}}})
        await world.until_state(State.RUNNING)
        [database] = world.engine.databases
        assert database.nologin == ["foo_user"]
        names = {one.metadata.name async for one in world.client.list(core.Secret, NAMESPACE)}
        assert f"foo-user.{SUFFIX}" not in names


async def test_foreign_secret_is_not_touched(world: World) -> None:
    theirs = core.Secret(data={"mine": b"1"})
    theirs.metadata.name, theirs.metadata.namespace = f"foo-user.{SUFFIX}", NAMESPACE
    theirs.metadata.labels = {"application": "spilo"}
    await world.client.create(theirs)
    async with world.operator():
        await world.client.create(minimal())
        failed = await world.until_state(State.CREATE_FAILED)
        assert "belongs to another owner" in (failed.status.message or "")
        assert (await world.client.get(core.Secret, theirs.metadata.name, NAMESPACE)).data == {"mine": b"1"}
        await world.client.delete(core.Secret, theirs.metadata.name, NAMESPACE)
        await world.until_state(State.RUNNING)
