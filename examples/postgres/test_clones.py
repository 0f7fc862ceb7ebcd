"""Tests of clones on planned pods: what they wait for, what is refused, and what their pods get."""

from __future__ import annotations

from pathlib import Path

import pytest
from postgres_operator.kinds import Clone, Postgresql, PostgresqlParameters, State
from postgres_operator.patroni import clone, launch
from worlds import NAMESPACE, World, created, minimal

from kubewright.api import apps, core

pytest_plugins = ["postgres_fixtures"]

NAME = "acid-minimal-cluster"
COPY = "acid-copy"
DATA = Path("/data")


def copy_of(name: str = NAME, uid: str | None = None, version: str = "17") -> Postgresql:
    """Returns a clone."""
    parameters = PostgresqlParameters(version=version)
    return minimal(COPY, clone=Clone(cluster=name, uid=uid), postgresql=parameters, number_of_instances=1)


async def variables(world: World) -> dict[str, core.EnvVar]:
    """Returns the variables of the clone's pods that name its source."""
    made = await world.client.get(apps.StatefulSet, COPY, NAMESPACE)
    assert made.spec.template.spec is not None
    env = made.spec.template.spec.containers[0].env or []
    return {one.name: one for one in env if one.name.startswith("CLONE_")}


async def test_clone_copies_the_source_once(world: World) -> None:
    async with world.operator():
        await created(world)
        source = await world.get()
        await world.client.create(copy_of(uid=source.metadata.uid))
        await world.until_state(State.RUNNING, COPY)
        first = await variables(world)
        assert (first["CLONE_METHOD"].value, first["CLONE_HOST"].value) == ("CLONE_WITH_BASEBACKUP", NAME)
        password = first["CLONE_PASSWORD"].value_from
        assert password is not None
        assert password.secret_key_ref == core.SecretKeySelector(
            name=f"standby.{NAME}.credentials.postgresql.acid.zalan.do", key="password", optional=True
        )
        # From now on, the clone depends neither on the field nor on its source.
        pods = [pod.metadata.uid for pod in await world.pods(COPY)]
        await world.patch({"spec": {"clone": None}}, COPY)
        await world.client.delete(Postgresql, NAME, NAMESPACE)
        await world.clock.run(world.client.wait_until_gone(Postgresql, NAME, NAMESPACE))
        await world.until_state(State.RUNNING, COPY)
        assert await variables(world) == first
        assert [pod.metadata.uid for pod in await world.pods(COPY)] == pods
        await world.patch({"spec": {"clone": {"cluster": NAME}}}, COPY)
        await world.client.delete(apps.StatefulSet, COPY, NAMESPACE)
        await world.clock.advance(60)
        await world.until_state(State.RUNNING, COPY)


async def test_clone_waits_for_the_primary_of_its_source(world: World) -> None:
    async with world.operator():
        world.broken.add("spilo:broken")
        await world.client.create(minimal(docker_image="spilo:broken"))
        await world.client.create(copy_of())
        waiting = await world.until_state(State.CREATING, COPY)
        waiting = await world.until(lambda found: found.status.message is not None, COPY)
        assert waiting.status.message == f"cluster {NAME}, which is cloned, has no primary"
        await world.patch({"spec": {"dockerImage": "spilo:good"}})
        await world.until_state(State.RUNNING, COPY)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (copy_of("acid-missing"), "spec.clone.cluster is acid-missing, but namespace default has no such cluster"),
        (copy_of(uid="other"), f"spec.clone.uid is other, but cluster {NAME} has the uid "),
        (copy_of(version="16"), f"spec.postgresql.version is 16, but cluster {NAME} has version 17"),
    ],
    ids=["missing", "another uid", "another version"],
)
async def test_clone_that_is_impossible_is_not_created(world: World, made: Postgresql, reason: str) -> None:
    async with world.operator():
        await created(world)
        await world.client.create(made)
        failed = await world.until_state(State.CREATE_FAILED, COPY)
        assert reason in (failed.status.message or "")
        assert await world.events("CreateFailed") == [failed.status.message]
        assert await world.client.find(apps.StatefulSet, COPY, NAMESPACE) is None


async def test_clone_does_not_start_with_the_volumes_of_an_earlier_cluster(world: World) -> None:
    async with world.operator():
        await created(world)
        await world.client.create(minimal(COPY, number_of_instances=1))
        await world.until_state(State.RUNNING, COPY)
        await world.client.delete(Postgresql, COPY, NAMESPACE)
        await world.clock.run(world.client.wait_until_gone(Postgresql, COPY, NAMESPACE))
        await world.client.create(copy_of())
        failed = await world.until_state(State.CREATE_FAILED, COPY)
        assert f"volume pgdata-{COPY}-0 has the data of an earlier cluster" in (failed.status.message or "")
        await world.client.delete(core.PersistentVolumeClaim, f"pgdata-{COPY}-0", NAMESPACE)
        await world.until_state(State.RUNNING, COPY)


def test_pod_of_a_clone_copies_through_the_service_without_showing_the_password() -> None:
    given = {"CLONE_HOST": "acid-a", "CLONE_PORT": "5432", "CLONE_USER": "standby", "CLONE_PASSWORD": "s3cret"}
    command = clone.command({**given, "ACID_A_SERVICE_HOST": "127.9.9.9"}, Path("/bin"), DATA)
    assert command[:3] == ["/bin/pg_basebackup", "--pgdata=/data", "--host=127.9.9.9"]
    assert "s3cret" not in " ".join(command)
    assert clone.host_of("acid-a", {}) == "acid-a"


def test_patroni_creates_a_clone_instead_of_an_empty_cluster() -> None:
    variables = {
        "POD_IP": "127.1.2.3",
        "POD_NAME": "c-0",
        "POD_NAMESPACE": "ns",
        "SCOPE": "c",
        "KUBERNETES_LABELS": "{}",
    }
    variables |= {"KUBERNETES_SCOPE_LABEL": "cluster-name", "KUBERNETES_ROLE_LABEL": "spilo-role"}
    variables |= {"PGUSER_SUPERUSER": "postgres", "PGUSER_STANDBY": "standby"}
    variables |= {"PGPASSWORD_SUPERUSER": "a", "PGPASSWORD_STANDBY": "b"}
    plain = launch.configuration(variables, Path("/bin"), DATA, DATA)["bootstrap"]
    assert "method" not in plain
    made = launch.configuration({**variables, "CLONE_METHOD": "CLONE_WITH_BASEBACKUP"}, Path("/bin"), DATA, DATA)
    assert made["bootstrap"]["method"] == "clone"
    assert made["bootstrap"]["clone"]["command"].endswith("clone.py")
