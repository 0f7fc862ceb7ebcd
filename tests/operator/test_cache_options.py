"""Cache options of `Owns`, `Watch` and `Reads` in a running operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kubewright import resource
from kubewright.api import Model, Object, Resource, core, meta
from kubewright.cache import ObjectKey, transform_json
from kubewright.client import Client, MergePatch
from kubewright.controller import Context, NotCached, Owns, Reads, Watch
from kubewright.operator import Operator, Running
from tests.patience import until

pytestmark = pytest.mark.clusters


class BoxSpec(Model):
    secret: str | None = None


@resource("caching.example.com/v1")
class Box(Resource[BoxSpec, None]):
    """Has children, and refers to a Secret."""


Read = Callable[[Context[Box]], Any]


def box(name: str, namespace: str, **spec: Any) -> Box:
    return Box(metadata=meta.ObjectMeta(name=name, namespace=namespace), spec=BoxSpec(**spec))


def secret(name: str, namespace: str | None = None, **labels: str) -> core.Secret:
    place = meta.ObjectMeta(name=name, namespace=namespace or "", labels=labels)
    return core.Secret(metadata=place, string_data={"key": name})


def config(name: str, namespace: str, **labels: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace=namespace, labels=labels), data={"a": "1"})


class Probe:
    """Runs one function in a reconcile, and keeps its result or error."""

    def __init__(self) -> None:
        self.read: Read = lambda ctx: None
        self.results: list[Any] = []

    async def sync(self, obj: Box, ctx: Context[Box]) -> None:
        try:
            self.results.append(self.read(ctx))
        except Exception as error:
            self.results.append(error)

    async def of(self, running: Running, key: ObjectKey, read: Read) -> Any:
        self.read = read
        self.results.clear()
        running.enqueue(Box, key)
        await until(lambda: self.results)
        return self.results[-1]


def cached(running: Running, kind: type[Object]) -> list[Any]:
    assert running.caches is not None
    return [one for one in running.caches.informers if one.info.kind == kind.__name__]


@pytest.mark.promise(
    "What the cache keeps", "Watching Secrets does not cache their content, unless the program asks for it."
)
async def test_watched_secrets_are_cached_without_their_content(client: Client, namespace: str) -> None:
    operator, probe = Operator("boxes", namespaces=[namespace]), Probe()
    operator.reconciles(Box, watches=[Watch(core.Secret, referenced_by=lambda obj: obj.spec.secret)])(probe.sync)
    await client.create(secret("token", namespace))
    async with operator.running(client) as running:
        await client.create(box("one", namespace, secret="token"))  # a name
        key = ObjectKey(namespace, "one")
        [informer] = cached(running, core.Secret)
        assert all(b'"data"' not in one.raw for one in informer.lister.snapshots())
        found = await probe.of(running, key, lambda ctx: ctx.get(core.Secret, "token"))
        assert found.metadata.name == "token"
        with pytest.raises(AttributeError, match="this Secret has no 'data': its cache has only the metadata"):
            _ = found.data
        assert await probe.of(running, key, lambda ctx: ctx.get(core.Secret, "missing")) is None
        found.metadata.labels["a"] = "b"
        with pytest.raises(ValueError, match=f"Secret {namespace}/token is read-only: its cache has only the metadata"):
            await client.update(found)
        await running.settled()
        probe.results.clear()
        await client.patch(core.Secret, "token", MergePatch({"stringData": {"key": "2"}}), namespace)
        await until(lambda: probe.results)


@pytest.mark.promise("What the cache keeps", "Owning Secrets caches whole only those that the reconciled kind owns.")
async def test_owned_secrets_are_cached_whole_and_others_are_not(client: Client, namespace: str) -> None:
    operator, requests = Operator("boxes", namespaces=[namespace]), list[str]()

    @operator.reconciles(Box, owns=[core.Secret])
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        await ctx.apply(core.Secret(metadata=meta.ObjectMeta(name="child"), data={"key": b"1"}))

    await client.create(secret("foreign", namespace))
    recording = client.with_hooks(lambda request: requests.append(f"{request.verb} {request.resource}"))
    async with operator.running(recording) as running:
        await client.create(box("one", namespace))
        [informer] = cached(running, core.Secret)
        await until(lambda: informer.lister.get("child", namespace))
        assert informer.lister.get("child", namespace).data == {"key": b"1"}
        assert b'"data"' not in informer.lister.snapshot((namespace, "foreign")).raw
        await running.settled()
        requests.clear()
        await running.check_idempotent()
        assert "get secrets" not in requests


async def test_applies_a_child_whose_kind_is_cached_without_content(client: Client, namespace: str) -> None:
    operator, applied = Operator("boxes", namespaces=[namespace]), list[core.ConfigMap]()

    @operator.reconciles(Box, owns=[Owns(core.ConfigMap, metadata_only=True)])
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        child = core.ConfigMap(metadata=meta.ObjectMeta(name="child"), data={"a": "1"})
        applied.append(await ctx.apply(child))
        await ctx.prune([core.ConfigMap], keep=[child])

    async with operator.running(client) as running:
        await client.create(box("one", namespace))
        await until(lambda: applied)
        await running.settled()
        await running.check_idempotent()
        assert all(one.data == {"a": "1"} for one in applied)
        await client.patch(core.ConfigMap, "child", MergePatch({"data": {"a": "2"}}), namespace)
        await until(lambda: _restored(client, namespace))


async def _restored(client: Client, namespace: str) -> bool:
    return (await client.get(core.ConfigMap, "child", namespace)).data == {"a": "1"}


async def test_transformed_objects_are_read_only(client: Client, namespace: str) -> None:
    def without_data(content: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in content.items() if name != "data"}

    operator, probe = Operator("boxes", namespaces=[namespace]), Probe()
    operator.reconciles(Box, reads=[Reads(core.ConfigMap, transform=transform_json(without_data))])(probe.sync)
    await client.create(config("settings", namespace))
    async with operator.running(client) as running:
        await client.create(box("one", namespace))
        found = await probe.of(running, ObjectKey(namespace, "one"), lambda ctx: ctx.get(core.ConfigMap, "settings"))
        assert (found.metadata.name, found.data) == ("settings", None)
        found.data = {"b": "2"}
        message = "is read-only: the transform of its cache has changed it. Read it with client.get"
        for write in (client.update, client.replace, client.apply):
            with pytest.raises(ValueError, match=message):
                await write(found)


@pytest.mark.promise(
    "What the cache keeps", "A read uses the cache that its controller declares, never one with fewer objects."
)
async def test_each_controller_reads_the_cache_that_it_declares(client: Client, namespace: str) -> None:
    operator, narrow, wide, silent = Operator("boxes", namespaces=[namespace]), Probe(), Probe(), Probe()
    operator.reconciles(Box, name="narrow", reads=[Reads(core.ConfigMap, labels="tier=front")])(narrow.sync)
    operator.reconciles(Box, name="wide", owns=[Owns(core.ConfigMap, labels="tier=back")], reads=[core.ConfigMap])(
        wide.sync
    )
    operator.reconciles(Box, name="silent")(silent.sync)
    for name, tier in (("a", "front"), ("b", "back")):
        await client.create(config(name, namespace, tier=tier))

    def names(ctx: Context[Box]) -> list[str]:
        found = [one.metadata.name for one in ctx.list(core.ConfigMap, namespace)]
        return [name for name in found if name in ("a", "b")]

    narrow.read = wide.read = silent.read = names
    async with operator.running(client):
        await client.create(box("one", namespace))
        await until(lambda: narrow.results and wide.results and silent.results)
    assert (narrow.results[0], wide.results[0], silent.results[0]) == (["a"], ["a", "b"], ["a", "b"])


async def test_refuses_a_read_that_only_narrower_caches_could_answer(client: Client, namespace: str) -> None:
    operator, silent, several, far = Operator("boxes", namespaces=[namespace]), Probe(), Probe(), Probe()
    both = [Watch(core.ConfigMap, map=lambda obj: [], labels="tier=back")]
    operator.reconciles(Box, name="several", owns=[Owns(core.ConfigMap, labels="tier=front")], watches=both)(
        several.sync
    )
    operator.reconciles(Box, name="silent")(silent.sync)
    operator.reconciles(Box, name="far", reads=[core.Service])(far.sync)
    silent.read = several.read = lambda ctx: ctx.get(core.ConfigMap, "a")
    far.read = lambda ctx: ctx.get(core.Service, "kubernetes", "default")
    async with operator.running(client):
        await client.create(box("one", namespace))
        await until(lambda: silent.results and several.results and far.results)
    errors = [silent.results[0], several.results[0], far.results[0]]
    assert all(isinstance(error, NotCached) for error in errors)
    places = (
        "by Owns(ConfigMap, labels=\"tier=front\") of controller 'several' and"
        " Watch(ConfigMap, labels=\"tier=back\") of controller 'several'"
    )
    assert str(errors[0]).startswith(f"ConfigMap is cached only in part, {places}: add reads=[ConfigMap]")
    assert str(errors[1]).startswith(f"ConfigMap is cached more than once, {places}: say which objects to read with")
    assert str(errors[2]).startswith("Service in namespace 'default' is not cached; the cached namespaces are: ")


async def test_a_declaration_may_have_other_namespaces_than_the_operator(client: Client, namespace: str) -> None:
    operator, probe = Operator("boxes", namespaces=[namespace]), Probe()
    operator.reconciles(Box, reads=[Reads(core.Service, namespaces=["default"])])(probe.sync)
    async with operator.running(client) as running:
        await client.create(box("one", namespace))
        key = ObjectKey(namespace, "one")
        found = await probe.of(running, key, lambda ctx: ctx.get(core.Service, "kubernetes", "default"))
        assert found.metadata.name == "kubernetes"
        [informer] = cached(running, core.Service)
        assert informer.namespaces == ("default",)


@pytest.mark.promise(
    "What the cache keeps", "An object that leaves a label selector is not deleted: nothing is cleaned up."
)
@pytest.mark.parametrize("by_key", [False, True])
async def test_an_object_that_leaves_a_selector_is_not_deleted(client: Client, namespace: str, *, by_key: bool) -> None:
    operator, deleted, absent = Operator("boxes", namespaces=[namespace]), list[str](), list[str]()

    if by_key:

        @operator.reconciles(core.ConfigMap, labels="mine=yes")
        async def follow(key: ObjectKey, ctx: Context[core.ConfigMap]) -> None:
            if ctx.get(core.ConfigMap, key.name, key.namespace) is None:
                absent.append(key.name)
    else:

        @operator.reconciles(core.ConfigMap, labels="mine=yes")
        async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None: ...

    @operator.deleted(core.ConfigMap)
    async def gone(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None:
        deleted.append(obj.metadata.name)

    for name in ("leaving", "dying"):
        await client.create(config(name, namespace, mine="yes"))
    async with operator.running(client) as running:
        [informer] = cached(running, core.ConfigMap)
        await client.patch(core.ConfigMap, "leaving", MergePatch({"metadata": {"labels": {"mine": "no"}}}), namespace)
        await until(lambda: informer.lister.get("leaving", namespace) is None)
        await client.delete(core.ConfigMap, "dying", namespace)
        await until(lambda: deleted)
        await running.settled()
        assert deleted == ["dying"]
        assert absent == (["dying"] if by_key else [])
