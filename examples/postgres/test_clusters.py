"""Tests of clusters on planned pods, without a database."""

from __future__ import annotations

import msgspec
import pytest
from postgres_operator.children import OURS
from postgres_operator.kinds import CONFIGURATION_NAME, Configuration, Postgresql, State, Volume
from postgres_operator.kinds.configuration import KubernetesSettings
from worlds import NAMESPACE, World, created, minimal

from kubewright.api import apps, core, policy, rbac
from kubewright.client import Invalid

pytest_plugins = ["postgres_fixtures"]

NAME = "acid-minimal-cluster"


async def test_creates_a_cluster_until_it_runs(world: World) -> None:
    async with world.operator() as running:
        await world.client.create(minimal())
        await world.until_state(State.CREATING)
        cluster = await world.until_state(State.RUNNING)
        assert (cluster.status.primary, cluster.status.number_of_instances) == (f"{NAME}-0", 2)
        assert cluster.status.message is None
        await running.check_idempotent()
    stateful_set = await world.client.get(apps.StatefulSet, NAME, NAMESPACE)
    assert stateful_set.status is not None
    assert (stateful_set.spec.replicas, stateful_set.status.ready_replicas) == (2, 2)
    services = {one.metadata.name: one.spec async for one in world.client.list(core.Service, NAMESPACE)}
    assert services[NAME].selector is None
    assert services[f"{NAME}-repl"].selector == {
        "application": "spilo",
        "cluster-name": NAME,
        "spilo-role": "replica",
    }
    budget = await world.client.get(policy.PodDisruptionBudget, f"postgres-{NAME}-pdb", NAMESPACE)
    assert budget.spec is not None
    assert budget.spec.min_available == 1
    secrets = {one.metadata.name async for one in world.client.list(core.Secret, NAMESPACE)}
    suffix = f"{NAME}.credentials.postgresql.acid.zalan.do"
    assert {f"{user}.{suffix}" for user in ("postgres", "standby", "zalando", "foo-user")} <= secrets
    [database] = world.engine.databases
    assert database.databases == {"foo": "zalando", "bar": "bar_owner"}
    assert await world.events("Running") == ["the cluster runs with 2 instances"]


async def test_scales_up_and_down(world: World) -> None:
    async with world.operator():
        await created(world)
        await world.patch({"spec": {"numberOfInstances": 3}})
        await world.until_state(State.UPDATING)
        assert (await world.until_state(State.RUNNING)).status.number_of_instances == 3
        await world.patch({"spec": {"numberOfInstances": 1}})
        assert (await world.until_state(State.RUNNING)).status.number_of_instances == 1
        await world.patch({"spec": {"numberOfInstances": 0}})
        stopped = await world.until_state(State.RUNNING)
        assert (stopped.status.number_of_instances, stopped.status.primary) == (0, None)
        claims = await world.client.list(core.PersistentVolumeClaim, NAMESPACE)
        assert len(list(claims)) == 3  # kept


async def test_scales_by_the_subresource(world: World) -> None:
    async with world.operator():
        await created(world)
        path = f"/apis/acid.zalan.do/v1/namespaces/{NAMESPACE}/postgresqls/{NAME}/scale"
        scale = msgspec.json.decode(await world.client.request("GET", path))
        assert scale["status"] == {"replicas": 2, "selector": f"application=spilo,cluster-name={NAME}"}
        scale["spec"]["replicas"] = 3
        await world.client.request("PUT", path, body=scale)
        assert (await world.until_state(State.RUNNING)).status.number_of_instances == 3


async def test_volumes_grow(world: World) -> None:
    async with world.operator():
        await created(world, volume=Volume(size="1Gi", storage_class="growing"))
        await world.patch({"spec": {"volume": {"size": "2Gi"}}})
        await world.until_state(State.RUNNING)
        assert await sizes(world) == ["2Gi", "2Gi"]
        await world.patch({"spec": {"numberOfInstances": 3}})
        await world.until_state(State.RUNNING)
        await world.clock.advance(10)
        assert await sizes(world) == ["2Gi"] * 3
        assert len(await world.pods()) == 3


async def test_reports_volumes_that_cannot_grow(world: World) -> None:
    async with world.operator():
        await created(world)  # the storage class allows no expansion
        await world.patch({"spec": {"volume": {"size": "2Gi"}, "numberOfInstances": 3}})
        refused = await world.until_state(State.UPDATE_FAILED)
        assert "cannot grow to 2Gi" in (refused.status.message or "")
        await world.until(lambda found: found.status.number_of_instances == 3)  # the rest is applied
        assert len(await world.events("VolumeGrowthRefused")) == 1


async def sizes(world: World) -> list[str]:
    claims = await world.client.list(core.PersistentVolumeClaim, NAMESPACE)
    return [str(claim.spec.resources.requests["storage"]) for claim in claims]  # type: ignore[union-attr,index]


async def test_refuses_to_shrink_volumes_with_reason_and_event(world: World) -> None:
    async with world.operator():
        await created(world, volume=Volume(size="2Gi"))
        await world.patch({"spec": {"volume": {"size": "1Gi"}, "numberOfInstances": 3}})
        refused = await world.until_state(State.UPDATE_FAILED)
        reason = "spec.volume.size is 1Gi, but the volumes have 2Gi and cannot shrink; set at least that"
        assert reason in (refused.status.message or "")
        assert await world.events("VolumeShrinkRefused") == [reason]
        await world.until(lambda found: found.status.number_of_instances == 3)  # the rest is applied
        assert await sizes(world) == ["2Gi"] * 3
        await world.patch({"spec": {"volume": {"size": "2Gi"}}})
        assert (await world.until_state(State.RUNNING)).status.message is None


async def test_refuses_another_version(world: World) -> None:
    async with world.operator():
        await created(world)
        await world.patch({"spec": {"postgresql": {"version": "16"}}})
        refused = await world.until_state(State.UPDATE_FAILED)
        assert "but the data directory has 17" in (refused.status.message or "")
        assert len(await world.events("VersionChangeRefused")) == 1
        assert not [call for call in world.engine.calls if call.startswith("switchover")]  # no pod is replaced
        await world.patch({"spec": {"postgresql": {"version": "17"}}})
        await world.until_state(State.RUNNING)


async def test_invalid_cluster_is_not_created_until_it_is_fixed(world: World) -> None:
    async with world.operator():
        await world.client.create(minimal("wrong-name"))
        invalid = await world.until_state(State.INVALID, "wrong-name")
        assert invalid.status.message == "metadata.name must start with the team and a dash: acid-…"
        assert await world.events("Invalid") == [invalid.status.message]
        assert list(await world.client.list(apps.StatefulSet, NAMESPACE)) == []
        await world.patch({"spec": {"teamId": "wrong"}}, "wrong-name")
        await world.until_state(State.RUNNING, "wrong-name")


async def test_invalid_change_leaves_the_cluster_running(world: World) -> None:
    async with world.operator():
        await created(world)
        await world.patch({"spec": {"databases": {"more": "unknown"}, "numberOfInstances": 3}})
        invalid = await world.until_state(State.INVALID)
        assert (invalid.status.number_of_instances, invalid.status.primary) == (2, f"{NAME}-0")
        assert len(await world.pods()) == 2


async def test_scales_down_a_cluster_without_a_ready_pod(world: World) -> None:
    async with world.operator():
        world.broken.add("spilo:broken")
        await world.client.create(minimal(docker_image="spilo:broken", number_of_instances=3))
        await world.until(lambda found: found.status.number_of_instances == 1)  # the first one is never ready
        await world.patch({"spec": {"numberOfInstances": 1, "dockerImage": "spilo:good"}})
        assert (await world.until_state(State.RUNNING)).status.number_of_instances == 1


async def test_names_fields_without_an_effect_in_an_event(world: World) -> None:
    async with world.operator():
        await created(world, enable_connection_pooler=True)
        assert await world.events("UnsupportedField") == ["these fields have no effect: spec.enableConnectionPooler"]


async def test_keeps_volumes_and_passwords_of_a_deleted_cluster(world: World) -> None:
    async with world.operator():
        await created(world)
        [database] = world.engine.databases
        password = database.superuser
        await world.client.delete(Postgresql, NAME, NAMESPACE)
        await world.clock.run(world.client.wait_until_gone(Postgresql, NAME, NAMESPACE))
        await world.clock.advance(60)
        for kind in (apps.StatefulSet, core.Service, policy.PodDisruptionBudget, core.Endpoints):
            names = [one.metadata.name for one in await world.client.list(kind, NAMESPACE)]
            assert [name for name in names if name.startswith("acid")] == [], kind
        assert len(list(await world.client.list(core.PersistentVolumeClaim, NAMESPACE))) == 2
        assert world.engine.databases == []
        await created(world)
        assert [database.superuser for database in world.engine.databases] == [password]


async def test_deletion_waits_for_annotations(world: World) -> None:
    settings = KubernetesSettings(delete_annotation_date_key="delete-date", delete_annotation_name_key="delete-name")
    async with world.operator():
        await world.configure(Configuration(kubernetes=settings))
        await created(world)
        await world.client.delete(Postgresql, NAME, NAMESPACE)
        today = world.clock.now().strftime("%Y-%m-%d")
        message = f"the deletion waits for the annotations delete-date={today}, delete-name={NAME}"
        await world.until(lambda found: found.status.message == message)
        assert await world.events("DeletionProtected") == [message]
        assert len(await world.pods()) == 2
        await world.patch({"metadata": {"annotations": {"delete-date": today, "delete-name": NAME}}})
        await world.clock.run(world.client.wait_until_gone(Postgresql, NAME, NAMESPACE))


async def test_configuration_takes_effect_without_a_restart(world: World) -> None:
    async with world.operator():
        await created(world)
        await world.configure(Configuration(docker_image="spilo:configured", max_instances=1))
        await world.until(lambda found: found.status.number_of_instances == 1)
        await world.until_state(State.RUNNING)
        assert {pod.spec.containers[0].image for pod in await world.pods()} == {"spilo:configured"}


async def test_renamed_objects_replace_the_former_ones(world: World) -> None:
    kinds = (policy.PodDisruptionBudget, core.ServiceAccount, rbac.Role, rbac.RoleBinding)

    async def names() -> dict[str, list[str]]:
        return {
            kind.__name__: sorted([one.metadata.name async for one in world.client.list(kind, NAMESPACE, labels=OURS)])
            for kind in kinds
        }

    async with world.operator():
        await created(world)
        before = {pod.metadata.uid for pod in await world.pods()}
        settings = KubernetesSettings(pdb_name_format="budget-{cluster}", pod_service_account_name="database")
        await world.configure(Configuration(kubernetes=settings))

        async def replaced() -> bool:
            if before.isdisjoint(pod.metadata.uid for pod in await world.pods()):
                return True
            assert f"postgres-pod-{NAME}" in (await names())["ServiceAccount"], "pods that are not replaced yet use it"
            return False

        async def renamed() -> bool:
            return await names() == {
                "PodDisruptionBudget": [f"budget-{NAME}"],
                "ServiceAccount": [f"database-{NAME}"],
                "Role": [f"database-{NAME}"],
                "RoleBinding": [f"database-{NAME}"],
            }

        await world.clock.advance_until(replaced, limit=3600)
        await world.clock.advance_until(renamed, limit=3600)
        assert {pod.spec.service_account_name for pod in await world.pods()} == {f"database-{NAME}"}
        await world.until_state(State.RUNNING)


async def test_rejects_periods_below_a_second(world: World) -> None:
    async with world.operator():
        for period in ("0s", "1ms", "500ms", "-5m", "5", "", "0m30s", "9" * 400 + "h"):
            with pytest.raises(Invalid, match=r"configuration\.resync_period"):
                await world.configure(Configuration(resync_period=period))
        await world.configure(Configuration(resync_period="1h0m0s", repair_period="90s"))


async def test_names_settings_without_an_effect_in_an_event(world: World) -> None:
    body = {
        "apiVersion": "acid.zalan.do/v1",
        "kind": "OperatorConfiguration",
        "metadata": {"name": CONFIGURATION_NAME},
        "configuration": {"etcd_host": "etcd", "kubernetes": {"watched_namespace": "*"}},
    }
    async with world.operator():
        path = f"/apis/acid.zalan.do/v1/namespaces/{NAMESPACE}/operatorconfigurations"
        await world.client.request("POST", path, body=body)
        assert await world.events("UnsupportedSetting") == [
            "these settings have no effect: configuration.etcd_host, configuration.kubernetes.watched_namespace"
        ]


async def test_does_nothing_while_paused(world: World) -> None:
    async with world.operator():
        await created(world)
        await world.patch(
            {"metadata": {"annotations": {"kubewright.dev/paused": "true"}}, "spec": {"numberOfInstances": 3}}
        )
        await world.clock.advance(600)
        assert len(await world.pods()) == 2
        await world.patch({"metadata": {"annotations": {"kubewright.dev/paused": None}}})
        assert (await world.until_state(State.RUNNING)).status.number_of_instances == 3
