"""`Applier.apply` on a real server: what is written, what is left alone, and when nothing is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, TypeVar

import pytest
import pytest_asyncio

from kubewright.api import Object, OwnerError, OwnerReference, Quantity, Untyped, apps, core, encode, meta, to_dict
from kubewright.cache import ObjectKey, Snapshot
from kubewright.cache._intake import Intake
from kubewright.client import Client, JsonPatch, MergePatch, NotFound, Request, StrategicPatch, load_config
from kubewright.controller._apply import Applier
from kubewright.controller._ownership import BeingDeleted, NotOwned, Outdated
from kubewright.testing import ControlPlane

R = TypeVar("R", bound=Object)
MANAGER = "wright"


class Mirror:
    """A cache that is exactly as far behind as the test wants: it learns of a change when it is told to look."""

    def __init__(self) -> None:
        self.snapshots: dict[tuple[type[Object], ObjectKey], Snapshot[Any]] = {}
        self.covered = True

    def covers(self, kind: type[Object], namespace: str) -> bool:
        return self.covered

    def get(self, kind: type[R], key: ObjectKey) -> Snapshot[R] | None:
        return self.snapshots.get((kind, key))

    def controlled_by(self, kind: type[R], uid: str) -> Iterable[Snapshot[R]]:
        for (cached_kind, _), snapshot in self.snapshots.items():
            if cached_kind is kind and snapshot.controller is not None and snapshot.controller.uid == uid:
                yield snapshot

    def written(self, obj: Object) -> None:
        assert obj.metadata.origin is not None
        raw = obj.metadata.origin.raw
        self.snapshots[type(obj), ObjectKey.of(obj)] = Intake(type(obj), field_manager=MANAGER).snapshot(raw)

    def removed(self, kind: type[Object], key: ObjectKey, uid: str) -> None:
        self.snapshots.pop((kind, key), None)


class Bench:
    """An applier on a real server, its cache, and a list of the requests that it sent."""

    def __init__(self, client: Client, namespace: str, requests: list[Request]) -> None:
        self.client = client
        self.namespace = namespace
        self.requests = requests
        self.mirror = Mirror()
        self.applier = Applier(client, self.mirror, field_manager=MANAGER)
        self.owner = core.ConfigMap()

    def sent(self) -> list[str]:
        """What was sent since the last time this was asked."""
        verbs = [f"{request.verb} {request.resource}" for request in self.requests]
        self.requests.clear()
        return verbs

    def before(self, verb: str, action: Callable[[], object]) -> None:
        """Do something just before the next request of that verb: what another program might do at that moment."""
        self.race = (verb, action)

    race: tuple[str, Callable[[], object]] | None = None

    def hook(self, request: Request) -> None:
        self.requests.append(request)
        if self.race is not None and self.race[0] == request.verb:
            action, self.race = self.race[1], None
            action()

    async def look(self, kind: type[Object], name: str) -> None:
        """Let the cache see what the server has now."""
        try:
            self.mirror.written(await self.client.get(kind, name))
        except NotFound:
            self.mirror.snapshots.pop((kind, ObjectKey(self.namespace, name)), None)
        self.requests.clear()

    async def live(self, kind: type[R], name: str) -> R:
        found = await self.client.get(kind, name)
        self.requests.clear()
        return found

    async def edit(self, kind: type[Object], name: str, content: dict[str, Any]) -> None:
        """Somebody else changes the object, and the cache sees it."""
        await self.client.patch(kind, name, StrategicPatch(content))
        await self.look(kind, name)


@pytest_asyncio.fixture
async def bench(control_plane: ControlPlane, namespace: str) -> AsyncIterator[Bench]:
    made: list[Bench] = []
    config = load_config(kubeconfig=control_plane.kubeconfig)
    async with Client(
        config, namespace=namespace, field_manager="others", hooks=[lambda request: made[0].hook(request)]
    ) as client:
        made.append(Bench(client, namespace, []))
        made[0].owner = await client.create(config_map("parent"))
        made[0].requests.clear()
        yield made[0]


def config_map(name: str = "child", namespace: str = "", **data: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace=namespace), data=data or None)


def deployment(**container: Any) -> apps.Deployment:
    labels = {"app": "web"}
    template = core.PodTemplateSpec(
        metadata=meta.ObjectMeta(labels=labels),
        spec=core.PodSpec(containers=[core.Container(name="web", image="nginx", **container)]),
    )
    return apps.Deployment(
        metadata=meta.ObjectMeta(name="web"),
        spec=apps.DeploymentSpec(replicas=0, selector=meta.LabelSelector(match_labels=labels), template=template),
    )


async def settles(bench: Bench, obj: R) -> R:
    """Apply an object, and see that a second time, after the cache caught up, sends nothing."""
    await bench.applier.apply(bench.owner, obj)
    await bench.look(type(obj), obj.metadata.name)
    again = await bench.applier.apply(bench.owner, obj)
    assert bench.sent() == []
    assert not again.written
    return again.object


# Creating


async def test_an_absent_object_is_created_by_one_request_and_belongs_to_its_owner(bench: Bench) -> None:
    asked = config_map(a="1")
    applied = await bench.applier.apply(bench.owner, asked)
    assert bench.sent() == ["patch configmaps"]
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
    assert [(e.manager, e.operation) for e in applied.object.metadata.managed_fields] == [(MANAGER, "Apply")]


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
    assert bench.sent() == ["patch configmaps"]


# No write if nothing changes


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


async def test_somebody_elses_field_is_left_and_causes_no_request(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1"))
    await bench.edit(core.ConfigMap, "child", {"data": {"theirs": "x"}, "metadata": {"labels": {"theirs": "x"}}})
    applied = await bench.applier.apply(bench.owner, config_map(a="1"))
    assert bench.sent() == []
    assert not applied.written
    assert applied.object.data == {"a": "1", "theirs": "x"}


async def test_somebody_elses_element_of_a_keyed_list_is_left_and_causes_no_request(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, deployment())
    sidecar = {"name": "sidecar", "image": "busybox"}
    await bench.edit(apps.Deployment, "web", {"spec": {"template": {"spec": {"containers": [sidecar]}}}})
    applied = await bench.applier.apply(bench.owner, deployment())
    assert bench.sent() == []
    assert sorted(c.name for c in applied.object.spec.template.spec.containers) == ["sidecar", "web"]


async def test_a_status_written_by_somebody_else_causes_no_request(bench: Bench) -> None:
    made = (await bench.applier.apply(bench.owner, deployment())).object
    made.status.observed_generation = 1
    await bench.client.update_status(made)
    await bench.look(apps.Deployment, "web")
    applied = await bench.applier.apply(bench.owner, deployment())
    assert bench.sent() == []
    assert applied.object.status.observed_generation == 1


async def test_the_first_apply_after_a_start_changes_nothing_and_the_next_sends_nothing(bench: Bench) -> None:
    made = (await bench.applier.apply(bench.owner, deployment(args=["a"]))).object
    bench.applier = Applier(bench.client, bench.mirror, field_manager=MANAGER)
    await bench.look(apps.Deployment, "web")

    first = await bench.applier.apply(bench.owner, deployment(args=["a"]))
    assert bench.sent() == ["patch deployments.apps"]
    assert not first.written
    assert first.object.metadata.resource_version == made.metadata.resource_version

    await bench.look(apps.Deployment, "web")
    assert not (await bench.applier.apply(bench.owner, deployment(args=["a"]))).written
    assert bench.sent() == []


async def test_what_others_did_since_the_cache_looked_does_not_count_as_written_by_us(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1"))
    await bench.client.patch(core.ConfigMap, "child", MergePatch({"data": {"theirs": "x"}}))
    bench.applier = Applier(bench.client, bench.mirror, field_manager=MANAGER)
    assert not (await bench.applier.apply(bench.owner, config_map(a="1"))).written


async def test_the_object_that_was_not_applied_for_longest_is_forgotten_and_applied_without_effect(
    bench: Bench,
) -> None:
    bench.applier = Applier(bench.client, bench.mirror, field_manager=MANAGER, remember=2)
    for name in ("one", "two", "one", "three"):
        await bench.applier.apply(bench.owner, config_map(name, a="1"))
    bench.sent()
    for name in ("one", "three"):
        assert not (await bench.applier.apply(bench.owner, config_map(name, a="1"))).written
    assert bench.sent() == []
    assert not (await bench.applier.apply(bench.owner, config_map("two", a="1"))).written
    assert bench.sent() == ["patch configmaps"]


async def test_a_kind_that_is_not_cached_is_read_each_time_and_written_only_when_needed(bench: Bench) -> None:
    bench.mirror.covered = False
    await bench.applier.apply(bench.owner, config_map(a="1"))
    assert bench.sent() == ["get configmaps", "patch configmaps"]
    assert not (await bench.applier.apply(bench.owner, config_map(a="1"))).written
    assert bench.sent() == ["get configmaps"]
    assert (await bench.applier.apply(bench.owner, config_map(a="2"))).written


# Changing


async def test_a_field_that_is_no_longer_asked_for_is_removed(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1", b="2"))
    applied = await bench.applier.apply(bench.owner, config_map(a="1"))
    assert applied.written
    assert applied.object.data == {"a": "1"}


async def test_an_element_and_a_list_that_are_no_longer_asked_for_are_removed(bench: Bench) -> None:
    wanted = deployment(args=["a"], env=[core.EnvVar(name="A", value="1"), core.EnvVar(name="B", value="2")])
    await bench.applier.apply(bench.owner, wanted)
    applied = await bench.applier.apply(bench.owner, deployment(env=[core.EnvVar(name="B", value="2")]))
    (container,) = applied.object.spec.template.spec.containers
    assert container.args is None
    assert container.env == [core.EnvVar(name="B", value="2")]


async def test_a_field_that_somebody_else_set_too_stays_when_it_is_no_longer_asked_for(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1", b="2"))
    await bench.client.apply(config_map(b="2"), field_manager="others")
    await bench.look(core.ConfigMap, "child")
    assert (await bench.applier.apply(bench.owner, config_map(a="1"))).object.data == {"a": "1", "b": "2"}


@pytest.mark.parametrize("seen", [True, False], ids=["seen by the cache", "and the cache is behind"])
async def test_somebody_elses_change_of_an_asked_field_is_put_back_once_it_is_seen(bench: Bench, seen: bool) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1"))
    await bench.client.patch(core.ConfigMap, "child", MergePatch({"data": {"a": "theirs"}}))
    if seen:
        await bench.look(core.ConfigMap, "child")
    applied = await bench.applier.apply(bench.owner, config_map(a="1"))
    assert applied.written is seen
    assert (await bench.live(core.ConfigMap, "child")).data == {"a": "1" if seen else "theirs"}


async def test_somebody_elses_change_of_an_atomic_list_is_put_back(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, deployment(args=["a"]))
    changed = {"spec": {"template": {"spec": {"containers": [{"name": "web", "args": ["a", "b"]}]}}}}
    await bench.edit(apps.Deployment, "web", changed)
    applied = await bench.applier.apply(bench.owner, deployment(args=["a"]))
    assert applied.object.spec.template.spec.containers[0].args == ["a"]


async def test_the_order_of_a_keyed_list_is_put_back(bench: Bench) -> None:
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


async def test_somebody_elses_addition_to_an_atomic_map_is_noticed_by_who_manages_it(bench: Bench) -> None:
    service = core.Service(
        metadata=meta.ObjectMeta(name="web"),
        spec=core.ServiceSpec(selector={"app": "web"}, ports=[core.ServicePort(port=80)]),
    )
    await settles(bench, service)
    await bench.edit(core.Service, "web", {"spec": {"selector": {"theirs": "x"}}})
    applied = await bench.applier.apply(bench.owner, service)
    assert applied.written
    assert applied.object.spec.selector == {"app": "web"}


async def test_a_field_whose_management_was_taken_away_is_claimed_again(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1"))
    await bench.client.patch(
        core.ConfigMap, "child", JsonPatch([{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}])
    )
    await bench.look(core.ConfigMap, "child")
    applied = await bench.applier.apply(bench.owner, config_map(a="1"))
    assert (MANAGER, "Apply") in [(e.manager, e.operation) for e in applied.object.metadata.managed_fields]


async def test_the_keys_of_a_secret_given_as_text_can_be_dropped_and_are_put_back(bench: Bench) -> None:
    def secret(**text: str) -> core.Secret:
        return core.Secret(metadata=meta.ObjectMeta(name="child"), data={"raw": b"\x00"}, string_data=text)

    assert (await settles(bench, secret(a="1", b="2"))).data == {"a": b"1", "b": b"2", "raw": b"\x00"}
    assert (await bench.applier.apply(bench.owner, secret(a="1"))).object.data == {"a": b"1", "raw": b"\x00"}
    await bench.edit(core.Secret, "child", {"stringData": {"a": "theirs"}})
    assert (await bench.applier.apply(bench.owner, secret(a="1"))).object.data == {"a": b"1", "raw": b"\x00"}


async def test_an_untyped_secret_given_as_text_can_lose_a_key_too(bench: Bench) -> None:
    kind = Untyped.kind_of("v1", "Secret", plural="secrets")

    def secret(**text: str) -> Untyped:
        return kind(metadata=meta.ObjectMeta(name="child"), content={"stringData": text})

    await bench.applier.apply(bench.owner, secret(a="1", b="2"))
    assert (await bench.applier.apply(bench.owner, secret(a="1"))).object["data"] == {"a": "MQ=="}


async def test_what_create_wrote_is_removed_when_apply_no_longer_asks_for_it(bench: Bench) -> None:
    made = config_map(a="1", b="2")
    made.metadata.owner_references = (await _reference(bench)).metadata.owner_references
    async with Client(bench.client._config, namespace=bench.namespace, field_manager=MANAGER) as as_us:
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


async def test_what_an_update_wrote_beside_an_apply_stays(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1", b="2"))
    async with Client(bench.client._config, namespace=bench.namespace, field_manager=MANAGER) as as_us:
        found = await as_us.get(core.ConfigMap, "child")
        found.metadata.annotations["example.com/note"] = "x"
        await as_us.update(found)
    await bench.look(core.ConfigMap, "child")
    applied = await bench.applier.apply(bench.owner, config_map(a="1"))
    assert bench.sent() == ["patch configmaps"]
    assert applied.object.data == {"a": "1"}
    assert applied.object.metadata.annotations == {"example.com/note": "x"}


async def _reference(bench: Bench) -> core.ConfigMap:
    """An object that the owner controls, for its owner reference."""
    return (await bench.applier.apply(bench.owner, config_map("reference"))).object


# Whose it is


async def test_an_object_that_somebody_else_made_is_refused_although_the_cache_does_not_know_it(bench: Bench) -> None:
    theirs = await bench.client.create(config_map(theirs="x"))
    with pytest.raises(NotOwned, match=r"exists already and ConfigMap .*/parent does not control it") as raised:
        await bench.applier.apply(bench.owner, config_map(a="1"))
    assert raised.value.existing.metadata.uid == theirs.metadata.uid
    assert raised.value.controller is None
    live = await bench.live(core.ConfigMap, "child")
    assert live.metadata.resource_version == theirs.metadata.resource_version


async def test_an_object_that_somebody_else_made_is_refused_when_the_cache_knows_it(bench: Bench) -> None:
    await bench.client.create(config_map(theirs="x"))
    await bench.look(core.ConfigMap, "child")
    with pytest.raises(NotOwned, match="adopt=True"):
        await bench.applier.apply(bench.owner, config_map(a="1"))
    assert bench.sent() == ["get configmaps"]


async def test_an_object_is_adopted_when_asked_for_and_keeps_what_others_set(bench: Bench) -> None:
    await bench.client.create(config_map(theirs="x", a="theirs"))
    applied = await bench.applier.apply(bench.owner, config_map(a="1"), adopt=True)
    assert applied.written
    assert applied.object.data == {"a": "1", "theirs": "x"}
    assert applied.object.metadata.owner_references[0].uid == bench.owner.metadata.uid
    bench.sent()
    await bench.applier.apply(bench.owner, config_map(a="1"))
    assert bench.sent() == []


async def test_an_object_that_another_one_controls_is_refused_also_when_adoption_is_asked_for(bench: Bench) -> None:
    rival = await bench.client.create(config_map("rival"))
    await bench.applier.apply(rival, config_map(a="1"))
    with pytest.raises(NotOwned, match=r"ConfigMap rival \(uid .*\) controls it") as raised:
        await bench.applier.apply(bench.owner, config_map(a="1"), adopt=True)
    assert raised.value.controller is not None
    assert raised.value.controller.uid == rival.metadata.uid


async def test_an_object_of_an_earlier_owner_of_the_same_name_is_refused(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1"))
    again = core.ConfigMap(metadata=meta.ObjectMeta(name="parent", namespace=bench.namespace, uid="another"))
    with pytest.raises(NotOwned, match="belongs to an earlier ConfigMap parent"):
        await bench.applier.apply(again, config_map(a="1"), adopt=True)


async def test_our_own_object_is_applied_although_the_cache_does_not_know_it(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1"))
    bench.mirror.snapshots.clear()
    applied = await bench.applier.apply(bench.owner, config_map(a="2"))
    assert applied.object.data == {"a": "2"}


async def test_of_two_that_adopt_at_once_one_has_to_look_again(bench: Bench, control_plane: ControlPlane) -> None:
    theirs = await bench.client.create(config_map(theirs="x"))
    path = f"/api/v1/namespaces/{bench.namespace}/configmaps/child"
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "rival", "uid": "rival", "controller": True}
    claimed = to_dict(theirs)
    claimed["metadata"]["ownerReferences"] = [reference]
    await bench.look(core.ConfigMap, "child")
    bench.before("patch", lambda: control_plane.request("PUT", path, claimed))
    with pytest.raises(Outdated, match="has changed since it was looked at; reconcile again"):
        await bench.applier.apply(bench.owner, config_map(a="1"), adopt=True)
    with pytest.raises(NotOwned, match="rival"):
        await bench.applier.apply(bench.owner, config_map(a="1"), adopt=True)


async def test_an_object_that_was_given_to_another_controller_is_refused_although_the_cache_is_behind(
    bench: Bench,
) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1"))
    rival = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "rival", "uid": "rival", "controller": True}]
    await bench.client.patch(core.ConfigMap, "child", MergePatch({"metadata": {"ownerReferences": rival}}))
    with pytest.raises(NotOwned, match="rival"):
        await bench.applier.apply(bench.owner, config_map(a="2"))
    assert (await bench.live(core.ConfigMap, "child")).data == {"a": "1"}


async def test_an_object_that_is_gone_although_the_cache_has_it_is_for_the_next_reconcile(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1"))
    await bench.client.delete(core.ConfigMap, "child")
    with pytest.raises(Outdated, match="reconcile again"):
        await bench.applier.apply(bench.owner, config_map(a="2"))
    await bench.look(core.ConfigMap, "child")
    assert (await bench.applier.apply(bench.owner, config_map(a="2"))).object.data == {"a": "2"}


async def test_an_object_that_was_made_anew_by_somebody_else_is_not_written(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1"))
    await bench.client.delete(core.ConfigMap, "child")
    await bench.client.create(config_map(theirs="x"))
    with pytest.raises(Outdated, match="deleted and made anew"):
        await bench.applier.apply(bench.owner, config_map(a="2"))
    assert (await bench.live(core.ConfigMap, "child")).data == {"theirs": "x"}
    await bench.look(core.ConfigMap, "child")
    with pytest.raises(NotOwned):
        await bench.applier.apply(bench.owner, config_map(a="2"))


@pytest.mark.parametrize("seen", [True, False], ids=["seen by the cache", "and the cache is behind"])
async def test_an_object_in_deletion_is_left_to_go(bench: Bench, seen: bool) -> None:
    asked = config_map(a="1")
    asked.metadata.finalizers = ["example.com/wait"]
    await bench.applier.apply(bench.owner, asked)
    await bench.client.delete(core.ConfigMap, "child")
    if seen:
        await bench.look(core.ConfigMap, "child")
    with pytest.raises(BeingDeleted, match=r"waits for its finalizers \(example.com/wait\)") as raised:
        asked.data = {"a": "2"}
        await bench.applier.apply(bench.owner, asked)
    assert raised.value.existing.metadata.deletion_timestamp is not None
    if seen:
        assert bench.sent() == []


async def test_an_object_in_deletion_that_the_cache_does_not_know_is_left_to_go(bench: Bench) -> None:
    asked = config_map(a="1")
    asked.metadata.finalizers = ["example.com/wait"]
    await bench.applier.apply(bench.owner, asked)
    await bench.client.delete(core.ConfigMap, "child")
    bench.mirror.snapshots.clear()
    with pytest.raises(BeingDeleted):
        await bench.applier.apply(bench.owner, asked)


# Without an owner


async def test_without_an_owner_what_we_applied_before_is_ours_also_after_a_start(bench: Bench) -> None:
    applied = await bench.applier.apply(None, config_map(a="1"))
    assert applied.object.metadata.owner_references == []
    bench.applier = Applier(bench.client, bench.mirror, field_manager=MANAGER)
    assert (await bench.applier.apply(None, config_map(a="2"))).object.data == {"a": "2"}


async def test_without_an_owner_what_somebody_else_made_is_refused_unless_adopted(bench: Bench) -> None:
    await bench.client.create(config_map(theirs="x"))
    with pytest.raises(NotOwned, match="this operator has not applied it before"):
        await bench.applier.apply(None, config_map(a="1"))
    applied = await bench.applier.apply(None, config_map(a="1"), adopt=True)
    assert applied.object.data == {"a": "1", "theirs": "x"}


# What cannot be applied


async def test_an_owner_cannot_own_in_another_namespace(bench: Bench) -> None:
    with pytest.raises(OwnerError, match="only objects in the same one"):
        await bench.applier.apply(bench.owner, config_map(namespace="default", a="1"))
    with pytest.raises(OwnerError, match="cannot own one that is cluster-scoped"):
        await bench.applier.apply(bench.owner, core.Namespace(metadata=meta.ObjectMeta(name="cluster-scoped")))
    assert bench.sent() == []


async def test_a_cluster_scoped_owner_can_own_in_any_namespace(bench: Bench) -> None:
    owner = await bench.client.get(core.Namespace, bench.namespace)
    applied = await bench.applier.apply(owner, config_map(namespace=bench.namespace, a="1"))
    assert applied.object.metadata.owner_references[0].kind == "Namespace"


async def test_an_object_that_was_read_is_refused_since_it_holds_what_others_set(bench: Bench) -> None:
    read = (await bench.applier.apply(bench.owner, config_map(a="1"))).object
    with pytest.raises(ValueError, match="apply a new object with just the fields that you want"):
        await bench.applier.apply(bench.owner, read)


async def test_an_object_without_a_name_is_refused(bench: Bench) -> None:
    with pytest.raises(ValueError, match=r"apply needs metadata\.name"):
        await bench.applier.apply(bench.owner, core.ConfigMap(metadata=meta.ObjectMeta(generate_name="child-")))
