"""Dry runs of operators, on both clusters."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import kubewright as kw
from kubewright.api import Object, apps, core, meta, to_dict
from kubewright.client import Client, MergePatch
from kubewright.crd import install
from kubewright.operator import DryRunReport, Operator
from tests.operator.conftest import find, settled


class ShopSpec(kw.Model):
    size: int = 1
    motto: str = ""


class ShopStatus(kw.Model):
    size: int = 0
    conditions: list[meta.Condition] = msgspec.field(default_factory=list)


@kw.resource("dry.example.com/v1")
class Shop(kw.Resource[ShopSpec, ShopStatus]):
    """A kind with children."""


@kw.resource("dry.example.com/v1")
class Till(kw.Resource[ShopSpec, ShopStatus]):
    """A kind that shops own, and that has its own controller."""


@pytest.fixture(autouse=True)
async def definitions(client: Client) -> None:
    await install(client, Shop, Till)


pytestmark = pytest.mark.clusters


def shop(namespace: str, **spec: Any) -> Shop:
    return Shop(metadata=meta.ObjectMeta(name="corner", namespace=namespace), spec=ShopSpec(**spec))


def operator_in(namespace: str, **options: Any) -> Operator:
    return Operator("shop-operator", namespaces=[namespace], external_calls="none", **options)


def deployment(replicas: int, **variables: str) -> apps.Deployment:
    labels = {"app": "shop"}
    env = [core.EnvVar(name=name, value=value) for name, value in variables.items()]
    container = core.Container(name="web", image="shop:1", env=env)
    template = core.PodTemplateSpec(metadata=meta.ObjectMeta(labels=labels), spec=core.PodSpec(containers=[container]))
    return apps.Deployment(
        metadata=meta.ObjectMeta(name="corner"),
        spec=apps.DeploymentSpec(
            replicas=replicas, selector=meta.LabelSelector(match_labels=labels), template=template
        ),
    )


def summary(report: DryRunReport) -> dict[str, dict[str, Any]]:
    """The changed fields of each object, with their new values."""
    return {
        f"{change.action} {change.kind} {change.name}": {
            f"{field.op} {field.path}": field.after for field in change.fields
        }
        for change in report.changes
    }


async def contents(client: Client, namespace: str, *kinds: type[Object]) -> list[Any]:
    return [to_dict(one) for kind in kinds for one in await client.list(kind, namespace)]


KINDS = (Shop, Till, apps.Deployment, core.ConfigMap, core.Secret, core.Event)


def shop_operator(namespace: str, **variables: str) -> Operator:
    operator = operator_in(namespace)

    @operator.reconciles(Shop, owns=[apps.Deployment, core.Secret])
    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        web = await ctx.apply(deployment(obj.spec.size, **variables))
        await ctx.apply(core.Secret(metadata=meta.ObjectMeta(name="corner"), string_data={"motto": obj.spec.motto}))
        assert ctx.get(apps.Deployment, "corner") is not None  # its own write
        assert len(ctx.owned(core.Secret)) == 1
        ctx.record("Synced", "the shop is in sync")
        ctx.set_condition("Ready", True, "Synced")
        await ctx.patch_status(size=web.spec.replicas)

    @operator.finalizes(Shop)
    async def close(obj: Shop, ctx: kw.Context[Shop]) -> None:
        raise AssertionError("finalizers do not run")

    return operator


@pytest.mark.promise(
    "Running an operator", "A dry run shows the changes of each object, and changes nothing in the cluster."
)
async def test_shows_the_changes_of_a_new_object_and_changes_nothing(client: Client, namespace: str) -> None:
    await client.create(shop(namespace, size=2, motto="hush"))
    before = await contents(client, namespace, *KINDS)
    report = await shop_operator(namespace).dry_run(client)
    assert await contents(client, namespace, *KINDS) == before
    assert (report.failures, report.waiting) == ((), ())
    shown = summary(report)
    assert list(shown) == ["update Shop corner", "create Deployment corner", "create Secret corner"]
    assert shown["update Shop corner"]["add metadata.finalizers[0]"] == "dry.example.com/shop-operator"
    assert shown["update Shop corner"]["add status.size"] == 2
    assert shown["update Shop corner"]["add status.conditions[type=Ready].status"] == "True"
    assert shown["create Deployment corner"]["add spec.replicas"] == 2
    # A default of the server:
    web = "spec.template.spec.containers[name=web]"
    assert shown["create Deployment corner"][f"add {web}.imagePullPolicy"] == "IfNotPresent"
    assert "hush" not in str(report)
    assert shown["create Secret corner"]["add data.motto"] == "••••••••"


@pytest.mark.promise("Running an operator", "A dry run of an operator that has done its work shows no changes.")
async def test_shows_no_changes_after_a_real_run(client: Client, namespace: str) -> None:
    operator = shop_operator(namespace)
    async with operator.running(client) as running:
        await settled(running, await client.create(shop(namespace, size=2)), succeeded=True)
    report = await operator.dry_run(client)
    assert report.changes == ()
    assert report.failures == ()
    assert report.reconciled == 1


async def test_shows_what_a_new_release_changes_and_removes(client: Client, namespace: str) -> None:
    async with shop_operator(namespace, COLOR="red", SIZE="1").running(client) as running:
        await settled(running, await client.create(shop(namespace, size=2, motto="a")), succeeded=True)
    await client.patch(Shop, "corner", MergePatch({"spec": {"size": 3, "motto": "b"}}), namespace)
    report = await shop_operator(namespace, COLOR="blue").dry_run(client)
    shown = summary(report)
    env = "spec.template.spec.containers[name=web].env"
    assert shown["update Deployment corner"] == {
        "replace spec.replicas": 3,
        f"replace {env}[name=COLOR].value": "blue",
        f"remove {env}[name=SIZE].name": msgspec.UNSET,
        f"remove {env}[name=SIZE].value": msgspec.UNSET,
    }
    assert shown["update Secret corner"] == {"replace data.motto": "••••••••"}
    assert shown["update Shop corner"]["replace status.size"] == 3
    assert report.failures == ()


async def test_reconciles_children_that_exist_only_in_the_dry_run(client: Client, namespace: str) -> None:
    operator = operator_in(namespace)

    @operator.reconciles(Shop, owns=[Till])
    async def open_shop(obj: Shop, ctx: kw.Context[Shop]) -> None:
        till = await ctx.apply(Till(metadata=meta.ObjectMeta(name="till"), spec=ShopSpec(size=obj.spec.size)))
        await ctx.patch_status(size=till.status.size)

    @operator.reconciles(Till, owns=[core.ConfigMap])
    async def fill_till(obj: Till, ctx: kw.Context[Till]) -> None:
        await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name="coins"), data={"count": str(obj.spec.size)}))
        await ctx.set_status(ShopStatus(size=obj.spec.size))
        live = await ctx.client.get(Till, "till", namespace)
        assert live.status.size == obj.spec.size
        assert [one.metadata.name for one in await ctx.client.list(core.ConfigMap, namespace, labels="!x")].count(
            "coins"
        ) == 1

    await client.create(shop(namespace, size=4))
    report = await operator.dry_run(client)
    assert report.failures == ()
    shown = summary(report)
    assert shown["create Till till"]["add status.size"] == 4
    assert shown["create ConfigMap coins"]["add data.count"] == "4"
    assert shown["create ConfigMap coins"]["add metadata.ownerReferences[name=till].kind"] == "Till"
    assert shown["update Shop corner"] == {"add status.size": 4}  # the second reconcile, after the change of the child
    assert await find(client, Till, "till", namespace) is None


async def test_shows_deletions_and_prunes(client: Client, namespace: str) -> None:
    def release(*names: str) -> Operator:
        operator = operator_in(namespace)

        @operator.reconciles(Shop, owns=[core.ConfigMap])
        async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
            await ctx.apply_all([core.ConfigMap(metadata=meta.ObjectMeta(name=name)) for name in names], prune=True)
            assert sorted(one.metadata.name for one in ctx.owned(core.ConfigMap)) == sorted(names)

        return operator

    async with release("a", "b").running(client) as running:
        await settled(running, await client.create(shop(namespace)), succeeded=True)
    report = await release("b", "c").dry_run(client)
    assert report.failures == ()
    assert sorted(summary(report)) == ["create ConfigMap c", "delete ConfigMap a"]
    assert await find(client, core.ConfigMap, "a", namespace) is not None


async def test_shows_a_deletion_that_waits_for_finalizers(client: Client, namespace: str) -> None:
    operator = operator_in(namespace)
    operator.needs(core.ConfigMap, verbs=["get", "delete"])

    @operator.reconciles(Shop, reads=[core.ConfigMap])
    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        for name in ("held", "free"):
            if (found := ctx.get(core.ConfigMap, name)) is not None and found.metadata.deletion_timestamp is None:
                assert await ctx.delete(found)
        assert ctx.get(core.ConfigMap, "free") is None

    for name, finalizers in (("held", ["example.com/hold"]), ("free", [])):
        metadata = meta.ObjectMeta(name=name, namespace=namespace, finalizers=finalizers)
        await client.create(core.ConfigMap(metadata=metadata))
    await client.create(shop(namespace))
    report = await operator.dry_run(client)
    assert report.failures == ()
    assert [(one.action, one.name, one.notes) for one in report.changes] == [
        ("delete", "held", ("the deletion waits for example.com/hold",)),
        ("delete", "free", ()),
    ]
    assert (await client.get(core.ConfigMap, "held", namespace)).metadata.deletion_timestamp is None
    await client.patch(core.ConfigMap, "held", MergePatch({"metadata": {"finalizers": []}}), namespace)


async def test_ignores_changes_by_other_clients_during_the_run(client: Client, namespace: str) -> None:
    operator = operator_in(namespace)

    @operator.reconciles(Shop, owns=[core.ConfigMap])
    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        await client.patch(Shop, "corner", MergePatch({"metadata": {"labels": {"seen": "yes"}}}), namespace)
        await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name="a"), data={"size": str(obj.spec.size)}))
        obj.metadata.annotations = {"note": "x"}
        await ctx.update(obj)

    await client.create(shop(namespace, size=7))
    report = await operator.dry_run(client)
    assert report.failures == ()
    shown = summary(report)
    assert shown["create ConfigMap a"]["add data.size"] == "7"
    assert shown["update Shop corner"]["add metadata.annotations.note"] == "x"


async def test_combines_several_writes_of_one_object(client: Client, namespace: str) -> None:
    operator = operator_in(namespace)
    operator.needs(core.ConfigMap, verbs=["get", "create", "patch", "update"])

    @operator.reconciles(Shop, reads=[core.ConfigMap])
    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        found = ctx.get(core.ConfigMap, "old")
        assert found is not None
        found.data = (found.data or {}) | {"first": "1"}
        found = await ctx.update(found)
        found.data = (found.data or {}) | {"second": "2"}
        del found.data["gone"]
        await ctx.update(found)
        await ctx.client.patch(core.ConfigMap, "old", MergePatch({"data": {"third": "3"}}), namespace)
        made = await ctx.create(core.ConfigMap(metadata=meta.ObjectMeta(name="new"), data={"a": "1"}))
        made.data = {"b": "2"}
        await ctx.update(made)
        await ctx.client.apply(
            core.ConfigMap(metadata=meta.ObjectMeta(name="new", namespace=namespace, labels={"x": "y"})), force=True
        )

    data = {"gone": "x", "kept": "y"}
    await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="old", namespace=namespace), data=data))
    await client.create(shop(namespace))
    report = await operator.dry_run(client)
    assert [failure for failure in report.failures if "AlreadyExists" not in failure.error] == []
    shown = summary(report)
    assert shown["update ConfigMap old"] == {
        "add data.first": "1",
        "add data.second": "2",
        "add data.third": "3",
        "remove data.gone": msgspec.UNSET,
    }
    new = shown["create ConfigMap new"]
    assert (new["add data.b"], new["add metadata.labels.x"]) == ("2", "y")
    assert "add data.a" not in new


async def test_shows_a_recreated_child(client: Client, namespace: str) -> None:
    def release(secret: str) -> Operator:
        operator = operator_in(namespace)

        @operator.reconciles(Shop, owns=[core.Secret])
        async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
            child = core.Secret(metadata=meta.ObjectMeta(name="key"), string_data={"k": secret}, immutable=True)
            await ctx.apply(child, immutable="recreate")

        return operator

    async with release("one").running(client) as running:
        await settled(running, await client.create(shop(namespace)), succeeded=True)
    report = await release("two").dry_run(client)
    assert report.failures == ()
    [change] = report.changes
    assert (change.action, change.kind, change.name) == ("recreate", "Secret", "key")
    assert "the old object still exists" in change.notes[0]


async def test_shows_children_in_a_namespace_that_does_not_exist_yet(client: Client, namespace: str) -> None:
    operator = operator_in(namespace)
    operator.needs(core.Namespace, verbs=["create", "get"])
    operator.needs(core.ConfigMap, verbs=["create", "get"])
    other = f"{namespace}-more"

    @operator.reconciles(Shop)
    async def sync(obj: Shop, ctx: kw.Context[Shop]) -> None:
        if await find(ctx.client, core.Namespace, other, "") is None:
            await ctx.client.create(core.Namespace(metadata=meta.ObjectMeta(name=other)))
            await ctx.client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="a", namespace=other)))

    await client.create(shop(namespace))
    report = await operator.dry_run(client)
    assert report.failures == ()
    made, child = report.changes
    assert (made.action, made.kind, child.kind) == ("create", "Namespace", "ConfigMap")
    assert child.notes == ("the server did not check it and set no defaults, because its namespace does not exist yet",)
