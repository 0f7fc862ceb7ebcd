"""Namespaces by label selector, followed while the operator runs: `namespace_labels`."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator

import pytest

from kubewright import resource
from kubewright.api import Model, Resource, core, meta
from kubewright.cache import ObjectKey
from kubewright.client import Client, MergePatch, NotFound
from kubewright.cluster import Cluster
from kubewright.controller import Context, NotCached
from kubewright.manifests import roles_of, rules_of
from kubewright.operator import Operator
from kubewright.operator.settings import SettingError
from tests.patience import until

both = pytest.mark.clusters


class StallSpec(Model):
    size: int = 0


@resource("markets.example.com/v1")
class Stall(Resource[StallSpec, None]):
    """Has a ConfigMap."""


def stall(namespace: str, name: str = "one") -> Stall:
    return Stall(metadata=meta.ObjectMeta(name=name, namespace=namespace), spec=StallSpec())


async def label(client: Client, namespace: str, value: str | None) -> None:
    await client.patch(core.Namespace, namespace, MergePatch({"metadata": {"labels": {"market": value}}}))


@pytest.fixture
async def labels(client: Client, namespace: str) -> AsyncIterator[str]:
    """A label selector that only the namespaces of this test have."""
    yield f"market={namespace}"
    with contextlib.suppress(NotFound):
        await client.delete(core.Namespace, f"{namespace}-b")


class Market:
    """An operator that follows namespaces, and what it was called for."""

    def __init__(self, labels: str) -> None:
        self.operator = Operator("market", namespace_labels=labels)
        self.seen: set[str] = set()
        self.gone: list[str] = []
        self.absent: list[str] = []
        self.missing: list[str] = []

        @self.operator.reconciles(Stall, reads=[core.ConfigMap])
        async def sync(obj: Stall, ctx: Context[Stall]) -> None:
            if ctx.get(core.ConfigMap, "settings") is None:
                self.missing.append(str(ctx.key))
            self.seen.add(str(ctx.key))

        @self.operator.reconciles(Stall, name="by-key")
        async def follow(key: ObjectKey, ctx: Context[Stall]) -> None:
            if ctx.get(Stall, key.name, key.namespace) is None:
                self.absent.append(str(key))

        @self.operator.deleted(Stall)
        async def gone(obj: Stall, ctx: Context[Stall]) -> None:
            self.gone.append(str(ctx.key))


async def furnish(client: Client, namespace: str) -> None:
    await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="settings", namespace=namespace)))
    await client.create(stall(namespace))


@both
@pytest.mark.promise(
    "Running an operator",
    "Namespaces that get or lose the labels of `namespace_labels` are followed without a restart, and nothing is"
    " cleaned up in a namespace that leaves.",
)
async def test_follows_namespaces_that_get_and_lose_the_labels(
    client: Client, namespace: str, labels: str, caplog: pytest.LogCaptureFixture
) -> None:
    market, other = Market(labels), f"{namespace}-b"
    await client.create(core.Namespace(metadata=meta.ObjectMeta(name=other)))
    await label(client, namespace, namespace)
    async with market.operator.running(client) as running:
        for each in (namespace, other):
            await furnish(client, each)
        await until(lambda: market.seen == {f"{namespace}/one"})
        await running.settled()
        assert market.seen == {f"{namespace}/one"}

        with caplog.at_level(logging.INFO, "kubewright"):
            await label(client, other, namespace)
            await until(lambda: f"{other}/one" in market.seen)
            await label(client, other, None)
            controller = running.controller(Stall)
            await until(lambda: controller.object_keys() == [ObjectKey(namespace, "one")])
        await client.delete(Stall, "one", other)
        await client.delete(Stall, "one", namespace)
        await until(lambda: market.gone)
        await running.settled()
        assert market.gone == [f"{namespace}/one"]
        assert market.absent == [f"{namespace}/one"]
    lines = [record.getMessage() for record in caplog.records if f"namespace {other}" in record.getMessage()]
    assert lines == [
        f"namespace {other} has the labels of this operator's namespaces: watching it",
        f"namespace {other} does not have the labels of this operator's namespaces any more: not watching it",
    ]


@both
async def test_starts_with_no_namespace_and_is_ready(client: Client, namespace: str, labels: str) -> None:
    market = Market(labels)
    async with market.operator.running(client) as running:
        assert running.caches is not None
        assert running.caches.synced
        assert not running.caches.followed_namespaces
        await furnish(client, namespace)
        await label(client, namespace, namespace)
        await until(lambda: market.seen == {f"{namespace}/one"})
        assert market.missing == [], "the objects of a namespace are complete before the first reconcile"
        assert running.caches.followed_namespaces == (namespace,)


async def test_objects_of_a_deleted_namespace_are_deleted() -> None:
    market = Market("market=b")
    async with Cluster() as cluster:
        client = cluster.client()
        await client.create(core.Namespace(metadata=meta.ObjectMeta(name="b", labels={"market": "b"})))
        async with market.operator.running(client):
            await furnish(client, "b")
            await until(lambda: market.seen)
            await client.delete(core.Namespace, "b")
            await client.wait_until_gone(core.Namespace, "b")
            await until(lambda: market.gone == ["b/one"])


@pytest.mark.clusters("embedded")  # the cache decides
async def test_refuses_a_read_in_a_namespace_without_the_labels(client: Client, namespace: str, labels: str) -> None:
    operator, errors = Operator("market", namespace_labels=labels), list[str]()

    @operator.reconciles(Stall, reads=[core.ConfigMap])
    async def sync(obj: Stall, ctx: Context[Stall]) -> None:
        try:
            ctx.get(core.ConfigMap, "settings", "default")
        except NotCached as error:
            errors.append(str(error))

    await label(client, namespace, namespace)
    async with operator.running(client):
        await client.create(stall(namespace))
        await until(lambda: errors)
    assert f"ConfigMap in namespace 'default' is not cached; the cached namespaces are: {namespace}." in errors[0]


def test_needs_a_cluster_role_with_list_and_watch_on_namespaces() -> None:
    operator = Market("team=shop").operator
    found = roles_of(operator)
    assert [one.kind for one in found.roles if not one.metadata.namespace] == ["ClusterRole"]
    permissions = [one for one in operator.permissions() if one.resource == "namespaces"]
    [rule] = rules_of(permissions)
    assert (rule.resources, rule.verbs) == (["namespaces"], ["list", "watch"])


def test_namespaces_and_labels_exclude_each_other() -> None:
    with pytest.raises(SettingError, match="namespaces and namespace_labels exclude each other"):
        Operator("market", namespaces=["shop"], namespace_labels="team=shop")
    operator = Operator("market", namespace_labels={"team": "shop"})
    assert operator.settings.namespace_labels == "team=shop"
    assert operator.settings_with(namespaces=["shop"]).namespace_labels is None
    operator.namespaces = ("shop",)
    assert operator.settings_with(namespace_labels="a in (b, c)").namespaces == ()


@pytest.mark.parametrize("given", ["", "a in", 3, {"a": 1}])
def test_rejects_what_is_not_a_label_selector(given: object) -> None:
    with pytest.raises(SettingError, match="namespace_labels must be a label selector"):
        Operator("market", namespace_labels=given)  # type: ignore[arg-type]
