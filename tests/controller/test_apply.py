"""`Applier.apply` on both clusters: what is written, and when nothing is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, TypeVar

import pytest
import pytest_asyncio

from kubewright.api import Object, OwnerReference, Quantity, Untyped, apps, core, encode, meta, to_dict
from kubewright.cache import ObjectKey
from kubewright.client import JsonPatch, MergePatch
from kubewright.cluster import Cluster
from kubewright.controller import Applier
from kubewright.testing import RealCluster
from tests.controller.apply_bench import MANAGER, Bench, config_map, deployment, open_bench

R = TypeVar("R", bound=Object)

pytestmark = pytest.mark.clusters


@pytest_asyncio.fixture
async def bench(cluster: Cluster | RealCluster, namespace: str) -> AsyncIterator[Bench]:
    async with open_bench(cluster, namespace) as opened:
        yield opened


async def settles(bench: Bench, obj: R) -> R:
    """Apply an object, and see that a second time, after the cache caught up, sends nothing."""
    await bench.applier.apply(bench.owner, obj)
    await bench.look(type(obj), obj.metadata.name)
    again = await bench.applier.apply(bench.owner, obj)
    assert bench.sent() == []
    assert not again.written
    return again.object


# Creating


@pytest.mark.promise(
    "Owned objects and `apply`",
    "What the cache does not know is created by one request, with its owner.",
)
async def test_an_absent_object_is_created_by_one_request_and_belongs_to_its_owner(bench: Bench) -> None:
    asked = config_map(a="1")
    applied = await bench.applier.apply(bench.owner, asked)
    assert bench.sent() == ["create configmaps"]
    assert applied.written
    assert applied.object.data == {"a": "1"}
    assert applied.object.metadata.owner_references == [
        OwnerReference(
            api_version="v1",
            kind="ConfigMap",
            name="parent",
            uid=bench.owner.metadata.uid,
            controller=True,
            block_owner_deletion=True,
        )
    ]
    assert [e.manager for e in applied.object.metadata.managed_fields] == [f"{MANAGER}-create"]
    # The first apply makes the fields that it was created with its own, so that it can drop them.
    again = await bench.applier.apply(bench.owner, config_map(b="2"))
    assert bench.sent() == ["get configmaps", "patch configmaps", "patch configmaps"]
    assert again.object.data == {"b": "2"}
    assert [(e.manager, e.operation) for e in again.object.metadata.managed_fields] == [(MANAGER, "Apply")]
    assert (await bench.applier.apply(bench.owner, config_map(c="3"))).object.data == {"c": "3"}
    assert bench.sent() == ["patch configmaps"]


async def test_the_callers_object_is_not_changed(bench: Bench) -> None:
    asked = config_map(a="1")
    asked.metadata.labels = {"a": "b"}
    before = encode(asked)
    await bench.applier.apply(bench.owner, asked)
    await bench.applier.apply(bench.owner, asked)
    assert encode(asked) == before


async def test_the_answer_to_an_apply_is_in_the_cache_before_the_watch_brings_it(bench: Bench) -> None:
    applied = await bench.applier.apply(bench.owner, config_map(a="1"))
    cached = bench.mirror.get(core.ConfigMap, ObjectKey(bench.namespace, "child"))
    assert cached is not None
    assert str(cached.resource_version) == applied.object.metadata.resource_version
    again = await bench.applier.apply(bench.owner, config_map(a="1"))
    assert not again.written
    assert bench.sent() == ["create configmaps"]


# No write if nothing changes


@pytest.mark.promise(
    "Owned objects and `apply`",
    "Nothing is written when nothing would change, whatever the server made of the values.",
)
@pytest.mark.parametrize(
    "container",
    [
        pytest.param({}, id="defaults that the server fills in"),
        pytest.param(
            {"resources": core.ResourceRequirements(requests={"cpu": Quantity("1000m"), "memory": Quantity("1.5Gi")})},
            id="quantities that the server writes in another way",
        ),
        pytest.param({"ports": [core.ContainerPort(container_port=80)]}, id="a key that the server completes"),
        pytest.param({"args": ["a", "b"], "command": []}, id="atomic lists, also an empty one"),
        pytest.param({"env": [core.EnvVar(name="EMPTY", value="")]}, id="a text that is empty"),
        pytest.param({"tty": False, "stdin": True}, id="a false value"),
    ],
)
async def test_a_deployment_is_not_written_again(bench: Bench, container: dict[str, Any]) -> None:
    settled = await settles(bench, deployment(**container))
    assert settled.spec.replicas == 0


@pytest.mark.promise("Owned objects and `apply`", "Values that are zero or empty reach the server.")
async def test_values_that_are_zero_or_empty_reach_the_server_and_settle(bench: Bench) -> None:
    settled = await settles(bench, config_map(empty=""))
    assert settled.data == {"empty": ""}


async def test_the_order_in_which_a_map_was_written_does_not_matter(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1", b="2"))
    bench.sent()
    assert not (await bench.applier.apply(bench.owner, config_map(b="2", a="1"))).written
    assert bench.sent() == []


async def test_an_untyped_object_is_not_written_again(bench: Bench) -> None:
    kind = Untyped.kind_of("apps/v1", "Deployment", plural="deployments", subresources=frozenset({"status"}))
    asked = kind(metadata=meta.ObjectMeta(name="web"), content={"spec": to_dict(deployment().spec)})
    await settles(bench, asked)


@pytest.mark.promise("Owned objects and `apply`", "What others set beside us is left, and causes no write.")
async def test_keeps_fields_of_other_managers_without_a_request(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1"))
    await bench.edit(core.ConfigMap, "child", {"data": {"theirs": "x"}, "metadata": {"labels": {"theirs": "x"}}})
    applied = await bench.applier.apply(bench.owner, config_map(a="1"))
    assert bench.sent() == []
    assert not applied.written
    assert applied.object.data == {"a": "1", "theirs": "x"}


async def test_keeps_list_elements_of_other_managers_without_a_request(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, deployment())
    sidecar = {"name": "sidecar", "image": "busybox"}
    await bench.edit(apps.Deployment, "web", {"spec": {"template": {"spec": {"containers": [sidecar]}}}})
    applied = await bench.applier.apply(bench.owner, deployment())
    assert bench.sent() == []
    assert sorted(c.name for c in applied.object.spec.template.spec.containers) == ["sidecar", "web"]


@pytest.mark.promise("Owned objects and `apply`", "What others set beside us is left, and causes no write.")
async def test_a_status_of_another_client_causes_no_request(bench: Bench) -> None:
    made = (await bench.applier.apply(bench.owner, deployment())).object
    made.status.observed_generation = 1
    await bench.client.update_status(made)
    await bench.look(apps.Deployment, "web")
    applied = await bench.applier.apply(bench.owner, deployment())
    assert bench.sent() == []
    assert applied.object.status.observed_generation == 1


async def test_the_first_apply_after_a_start_changes_nothing_and_the_next_sends_nothing(bench: Bench) -> None:
    async def restarted() -> apps.Deployment:
        bench.applier = Applier(bench.client, bench.mirror, field_manager=MANAGER)
        await bench.look(apps.Deployment, "web")
        bench.sent()
        first = await bench.applier.apply(bench.owner, deployment(args=["a"]))
        assert not first.written
        return first.object

    made = (await bench.applier.apply(bench.owner, deployment(args=["a"]))).object
    first = await restarted()
    assert bench.sent() == ["get deployments.apps", "patch deployments.apps", "patch deployments.apps"]
    assert (first.metadata.generation, first.spec) == (made.metadata.generation, made.spec)
    second = await restarted()
    assert bench.sent() == ["patch deployments.apps"]
    assert second.metadata.resource_version == first.metadata.resource_version

    await bench.look(apps.Deployment, "web")
    assert not (await bench.applier.apply(bench.owner, deployment(args=["a"]))).written
    assert bench.sent() == []


async def test_changes_of_other_clients_do_not_count_as_written(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1"))
    await bench.client.patch(core.ConfigMap, "child", MergePatch({"data": {"theirs": "x"}}))
    bench.applier = Applier(bench.client, bench.mirror, field_manager=MANAGER)
    assert not (await bench.applier.apply(bench.owner, config_map(a="1"))).written


async def test_drops_the_least_recently_applied_object_and_applies_it_without_effect(
    bench: Bench,
) -> None:
    bench.applier = Applier(bench.client, bench.mirror, field_manager=MANAGER, remember=2)
    for a in ("0", "1"):
        for name in ("one", "two", "one", "three"):
            await bench.applier.apply(bench.owner, config_map(name, a=a))
    bench.sent()
    for name in ("one", "three"):
        assert not (await bench.applier.apply(bench.owner, config_map(name, a="1"))).written
    assert bench.sent() == []
    assert not (await bench.applier.apply(bench.owner, config_map("two", a="1"))).written
    assert bench.sent() == ["patch configmaps"]


async def test_a_kind_that_is_not_cached_is_read_each_time_and_written_only_when_needed(bench: Bench) -> None:
    bench.mirror.covered = False
    await bench.applier.apply(bench.owner, config_map(a="1"))
    assert bench.sent() == ["get configmaps", "create configmaps"]
    assert not (await bench.applier.apply(bench.owner, config_map(a="1"))).written
    assert bench.sent() == ["get configmaps"]
    assert (await bench.applier.apply(bench.owner, config_map(a="2"))).written


# Changing


@pytest.mark.promise(
    "Owned objects and `apply`",
    "A field that is no longer asked for goes, also one from the first create.",
)
async def test_removes_a_field_that_is_no_longer_requested(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1", b="2"))
    applied = await bench.applier.apply(bench.owner, config_map(a="1"))
    assert applied.written
    assert applied.object.data == {"a": "1"}


async def test_removes_an_element_and_a_list_that_are_no_longer_requested(bench: Bench) -> None:
    wanted = deployment(args=["a"], env=[core.EnvVar(name="A", value="1"), core.EnvVar(name="B", value="2")])
    await bench.applier.apply(bench.owner, wanted)
    applied = await bench.applier.apply(bench.owner, deployment(env=[core.EnvVar(name="B", value="2")]))
    (container,) = applied.object.spec.template.spec.containers
    assert container.args is None
    assert container.env == [core.EnvVar(name="B", value="2")]


async def test_keeps_an_unrequested_field_that_another_manager_has_set(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1", b="2"))
    await bench.client.apply(config_map(b="2"), field_manager="others")
    await bench.look(core.ConfigMap, "child")
    assert (await bench.applier.apply(bench.owner, config_map(a="1"))).object.data == {"a": "1", "b": "2"}


@pytest.mark.promise("Owned objects and `apply`", "What others change of ours is put back.")
@pytest.mark.parametrize("seen", [True, False], ids=["seen by the cache", "and the cache is behind"])
async def test_restores_a_requested_field_once_a_change_is_seen(bench: Bench, seen: bool) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1"))
    await bench.client.patch(core.ConfigMap, "child", MergePatch({"data": {"a": "theirs"}}))
    if seen:
        await bench.look(core.ConfigMap, "child")
    applied = await bench.applier.apply(bench.owner, config_map(a="1"))
    assert applied.written is seen
    assert (await bench.live(core.ConfigMap, "child")).data == {"a": "1" if seen else "theirs"}


async def test_restores_an_atomic_list(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, deployment(args=["a"]))
    changed = {"spec": {"template": {"spec": {"containers": [{"name": "web", "args": ["a", "b"]}]}}}}
    await bench.edit(apps.Deployment, "web", changed)
    applied = await bench.applier.apply(bench.owner, deployment(args=["a"]))
    assert applied.object.spec.template.spec.containers[0].args == ["a"]


async def test_restores_the_order_of_a_keyed_list(bench: Bench) -> None:
    def ordered(*names: str) -> apps.Deployment:
        return deployment(env=[core.EnvVar(name=name, value="1") for name in names])

    await bench.applier.apply(bench.owner, ordered("A", "B"))
    # Order has no manager: nothing but the object itself tells that it was changed.
    swap = {
        "op": "move",
        "from": "/spec/template/spec/containers/0/env/1",
        "path": "/spec/template/spec/containers/0/env/0",
    }
    await bench.client.patch(apps.Deployment, "web", JsonPatch([swap]))
    await bench.look(apps.Deployment, "web")
    applied = await bench.applier.apply(bench.owner, ordered("A", "B"))
    assert applied.written
    assert [variable.name for variable in applied.object.spec.template.spec.containers[0].env or []] == ["A", "B"]


async def test_notices_an_addition_to_an_atomic_map(bench: Bench) -> None:
    service = core.Service(
        metadata=meta.ObjectMeta(name="web"),
        spec=core.ServiceSpec(selector={"app": "web"}, ports=[core.ServicePort(port=80)]),
    )
    await settles(bench, service)
    await bench.edit(core.Service, "web", {"spec": {"selector": {"theirs": "x"}}})
    applied = await bench.applier.apply(bench.owner, service)
    assert applied.written
    assert applied.object.spec.selector == {"app": "web"}


@pytest.mark.promise("Owned objects and `apply`", "What others change of ours is put back.")
async def test_a_field_whose_management_was_taken_away_is_claimed_again(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1"))
    await bench.client.patch(
        core.ConfigMap, "child", JsonPatch([{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}])
    )
    await bench.look(core.ConfigMap, "child")
    applied = await bench.applier.apply(bench.owner, config_map(a="1"))
    assert (MANAGER, "Apply") in [(e.manager, e.operation) for e in applied.object.metadata.managed_fields]


async def test_removes_and_restores_keys_of_string_data(bench: Bench) -> None:
    def secret(**text: str) -> core.Secret:
        return core.Secret(metadata=meta.ObjectMeta(name="child"), data={"raw": b"\x00"}, string_data=text)

    assert (await settles(bench, secret(a="1", b="2"))).data == {"a": b"1", "b": b"2", "raw": b"\x00"}
    assert (await bench.applier.apply(bench.owner, secret(a="1"))).object.data == {"a": b"1", "raw": b"\x00"}
    await bench.edit(core.Secret, "child", {"stringData": {"a": "theirs"}})
    assert (await bench.applier.apply(bench.owner, secret(a="1"))).object.data == {"a": b"1", "raw": b"\x00"}


async def test_removes_keys_of_string_data_of_an_untyped_secret(bench: Bench) -> None:
    kind = Untyped.kind_of("v1", "Secret", plural="secrets")

    def secret(**text: str) -> Untyped:
        return kind(metadata=meta.ObjectMeta(name="child"), content={"stringData": text})

    await bench.applier.apply(bench.owner, secret(a="1", b="2"))
    assert (await bench.applier.apply(bench.owner, secret(a="1"))).object["data"] == {"a": "MQ=="}


@pytest.mark.promise(
    "Owned objects and `apply`",
    "A field that is no longer asked for goes, also one from the first create.",
)
async def test_removes_created_fields_that_apply_no_longer_requests(
    bench: Bench, cluster: Cluster | RealCluster
) -> None:
    made = config_map(a="1", b="2")
    made.metadata.owner_references = (await _reference(bench)).metadata.owner_references
    async with cluster.client(namespace=bench.namespace, field_manager=MANAGER) as as_us:
        created = await as_us.create(made)
        created.metadata.finalizers.append("example.com/promise")
        await as_us.update(created)
    await bench.look(core.ConfigMap, "child")
    applied = await bench.applier.apply(bench.owner, config_map(a="1"))
    assert applied.object.data == {"a": "1"}
    assert applied.object.metadata.finalizers == ["example.com/promise"]
    entries = {entry.operation: entry.fields() for entry in applied.object.metadata.managed_fields}
    assert entries["Update"] == {"f:metadata": {"f:finalizers": {".": {}, 'v:"example.com/promise"': {}}}}
    assert bench.sent() == ["get configmaps", "patch configmaps", "patch configmaps"]
    await bench.look(core.ConfigMap, "child")
    await bench.applier.apply(bench.owner, config_map(a="1"))
    assert bench.sent() == []


async def test_keeps_fields_that_an_update_wrote(bench: Bench, cluster: Cluster | RealCluster) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1", b="2"))
    async with cluster.client(namespace=bench.namespace, field_manager=MANAGER) as as_us:
        found = await as_us.get(core.ConfigMap, "child")
        found.metadata.annotations["example.com/note"] = "x"
        await as_us.update(found)
    await bench.look(core.ConfigMap, "child")
    for data in ({"a": "1"}, {"a": "2"}):
        applied = await bench.applier.apply(bench.owner, config_map(**data))
        assert applied.object.data == data
        assert applied.object.metadata.annotations == {"example.com/note": "x"}


async def _reference(bench: Bench) -> core.ConfigMap:
    """An object that the owner controls, for its owner reference."""
    return (await bench.applier.apply(bench.owner, config_map("reference"))).object
