"""`Watch(kind, referenced_by=...)`: a change of an object reconciles the objects that refer to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import field

from kubewright import resource
from kubewright.api import Model, Resource, core, meta
from kubewright.cache import ObjectKey
from kubewright.client import Client, MergePatch
from kubewright.cluster import Cluster
from kubewright.controller import Context, Watch
from kubewright.operator import Operator
from tests.patience import PATIENCE


class GateSpec(Model):
    secrets: list[str] = field(default_factory=list)


@resource("references.example.com/v1")
class Gate(Resource[GateSpec, None]):
    """Uses Secrets in its own namespace."""


@resource("references.example.com/v1", scope="Cluster")
class Zone(Resource[GateSpec, None]):
    """Uses Secrets in the namespace `zones`."""


def gate(name: str, *secrets: str, namespace: str = "default") -> Gate:
    return Gate(metadata=meta.ObjectMeta(name=name, namespace=namespace), spec=GateSpec(secrets=list(secrets)))


def secret(name: str, namespace: str = "default") -> core.Secret:
    return core.Secret(metadata=meta.ObjectMeta(name=name, namespace=namespace), string_data={"key": "1"})


async def change(client: Client, name: str, namespace: str, value: str) -> None:
    await client.patch(core.Secret, name, MergePatch({"stringData": {"key": value}}), namespace)


@pytest.mark.promise(
    "What wakes a reconciler", "referenced_by: a change of an object wakes the objects that refer to it."
)
async def test_a_change_triggers_the_objects_that_refer_to_it() -> None:
    operator, calls = Operator("gates"), list[tuple[str, str]]()

    @operator.reconciles(Gate, watches=[Watch(core.Secret, referenced_by=lambda obj: obj.spec.secrets)])
    async def sync(obj: Gate, ctx: Context[Gate]) -> None:
        calls.append((str(ctx.key), ctx.trigger))

    async with Cluster() as cluster, asyncio.timeout(PATIENCE):
        client = cluster.client()
        await client.create(core.Namespace(metadata=meta.ObjectMeta(name="other")))
        for one in (secret("a"), secret("b"), secret("a", "other"), secret("unused")):
            await client.create(one)
        async with operator.running(client) as running:
            for each in (gate("one", "a"), gate("two", "a", "b"), gate("three"), gate("far", "a", namespace="other")):
                await client.create(each)
            await running.settled()
            calls.clear()
            await change(client, "a", "default", "2")
            await running.settled()
            assert sorted(calls) == [("default/one", "Secret updated"), ("default/two", "Secret updated")]
            calls.clear()
            await change(client, "unused", "default", "2")
            await client.delete(core.Secret, "b", "default")
            await running.settled()
            assert calls == [("default/two", "Secret deleted")]
            await client.patch(Gate, "one", MergePatch({"spec": {"secrets": ["unused"]}}), "default")
            await running.settled()
            calls.clear()
            await change(client, "unused", "default", "3")
            await change(client, "a", "default", "3")
            await running.settled()
            assert sorted(calls) == [("default/one", "Secret updated"), ("default/two", "Secret updated")]


async def test_references_of_a_controller_with_spaces_in_its_name() -> None:
    operator, calls = Operator("gates"), list[tuple[str, str]]()

    @operator.reconciles(
        Gate, name="gates of 100% safety", watches=[Watch(core.Secret, referenced_by=lambda obj: obj.spec.secrets)]
    )
    async def sync(obj: Gate, ctx: Context[Gate]) -> None:
        calls.append((str(ctx.key), ctx.trigger))

    async with Cluster() as cluster, asyncio.timeout(PATIENCE):
        client = cluster.client()
        await client.create(secret("a"))
        async with operator.running(client) as running:
            await client.create(gate("one", "a"))
            await running.settled()
            calls.clear()
            await change(client, "a", "default", "2")
            await running.settled()
    assert calls == [("default/one", "Secret updated")]


async def test_a_cluster_scoped_object_refers_by_key(caplog: pytest.LogCaptureFixture) -> None:
    operator, calls = Operator("zones"), list[str]()
    refer: Callable[[Zone], Any] = lambda obj: [ObjectKey("zones", name) for name in obj.spec.secrets]  # noqa: E731

    @operator.reconciles(Zone, watches=[Watch(core.Secret, referenced_by=refer)])
    async def sync(obj: Zone, ctx: Context[Zone]) -> None:
        calls.append(ctx.key.name)

    async with Cluster() as cluster, asyncio.timeout(PATIENCE):
        client = cluster.client()
        await client.create(core.Namespace(metadata=meta.ObjectMeta(name="zones")))
        await client.create(secret("a", "zones"))
        async with operator.running(client) as running:
            await client.create(Zone(metadata=meta.ObjectMeta(name="north"), spec=GateSpec(secrets=["a"])))
            await running.settled()
            calls.clear()
            await change(client, "a", "zones", "2")
            await running.settled()
            assert calls == ["north"]


def test_references_of_an_object() -> None:
    def references(found: Any, kind: Any = core.Secret) -> list[str]:
        return Watch(kind, referenced_by=lambda obj: found).references(gate("one"))

    assert references(None) == references("") == references([]) == []
    assert references("a") == ["default/a"]
    assert references(["a", ObjectKey("other", "b")]) == ["default/a", "other/b"]
    assert references(ObjectKey("other", "b")) == ["other/b"]
    assert references("north", Zone) == ["north"]
    with pytest.raises(TypeError, match="referenced_by must return names, ObjectKeys or None, not 5"):
        references([5])
    zone = Zone(metadata=meta.ObjectMeta(name="north"), spec=GateSpec())
    with pytest.raises(TypeError, match=r"has no namespace, and Secret 'a' needs one: return ObjectKey\(namespace"):
        Watch(core.Secret, referenced_by=lambda obj: "a").references(zone)


@pytest.mark.parametrize("options", [{}, {"map": lambda obj: None, "referenced_by": lambda obj: None}])
def test_takes_either_a_map_function_or_a_reference(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"Watch\(Secret\) takes either map= or referenced_by="):
        Watch(core.Secret, **options)


@pytest.mark.parametrize("given", [5, lambda: None])
def test_rejects_a_reference_that_is_not_a_function_of_an_object(given: Any) -> None:
    with pytest.raises(
        TypeError, match="referenced_by must be a function from an object of the reconciled kind to names"
    ):
        Watch(core.Secret, referenced_by=given)


async def test_an_index_is_read_in_one_namespace() -> None:
    operator, found = Operator("gates"), list[list[str]]()
    operator.indexes(Gate, "secret")(lambda obj: obj.spec.secrets)

    @operator.reconciles(Gate)
    async def sync(obj: Gate, ctx: Context[Gate]) -> None:
        found.append([one.metadata.name for one in ctx.by_index(Gate, "secret", "a", namespace="other")])

    async with Cluster() as cluster, asyncio.timeout(PATIENCE):
        client = cluster.client()
        await client.create(core.Namespace(metadata=meta.ObjectMeta(name="other")))
        async with operator.running(client) as running:
            for one in (gate("near", "a"), gate("far", "a", namespace="other")):
                await client.create(one)
            await running.settled()
            found.clear()
            await running.check_idempotent()
    assert found == [["far"], ["far"]]
