"""`Applier` with the caches that an operator gives it, fed by a watch: on both clusters."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

import kubewright as kw
from kubewright.api import Quantity, apiextensions, apps, core, from_dict, meta
from kubewright.cache import Caches, Change
from kubewright.client import AlreadyExists, Client, MergePatch, Request
from kubewright.cluster import Cluster
from kubewright.controller import Applier, CachedKinds
from kubewright.testing import RealCluster
from tests.patience import PATIENCE

pytestmark = pytest.mark.clusters

MANAGER = "wright"


class GadgetSpec(kw.Model):
    size: int | None = None
    tags: list[str] | None = None
    note: str | None = None


@kw.resource("apply.example.com/v1")
class Gadget(kw.Resource[GadgetSpec, None]):
    """A kind of the tests' own; the server fills in a size."""


GADGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.apply.example.com"},
    "spec": {
        "group": "apply.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "size": {"type": "integer", "default": 3},
                                    "note": {"type": "string"},
                                    "tags": {"type": "array", "items": {"type": "string"}},
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}


class Bench:
    """An applier with real caches, and what it sent."""

    def __init__(self, client: Client, owner: core.ConfigMap, kinds: CachedKinds, writes: list[str]) -> None:
        self.client, self.owner, self.kinds, self.writes = client, owner, kinds, writes
        self.applier = Applier(client, kinds, field_manager=MANAGER)
        self.changed = asyncio.Event()

    def heard(self, change: Change[Any]) -> None:
        self.changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the watch has brought that about."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self.changed.clear()
                await self.changed.wait()


@pytest_asyncio.fixture
async def bench(cluster: Cluster | RealCluster, namespace: str) -> AsyncIterator[Bench]:
    writes: list[str] = []

    def hook(request: Request) -> None:
        if request.method != "GET":
            writes.append(f"{request.verb} {request.resource}")

    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(cluster.client(namespace=namespace, hooks=[hook]))
        await serve_gadgets(client)
        owner = await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="parent")))
        caches = Caches(client, namespaces=[namespace], field_manager=MANAGER)
        made = Bench(client, owner, CachedKinds(), writes)
        for kind in (core.ConfigMap, apps.Deployment, Gadget):
            informer = caches.informer(kind)
            informer.add_handler(made.heard)
            made.kinds.add(kind, informer)
        await stack.enter_async_context(caches)
        await caches.wait_for_sync(PATIENCE)
        writes.clear()
        yield made


async def serve_gadgets(client: Client) -> None:
    with contextlib.suppress(AlreadyExists):
        await client.create(from_dict(apiextensions.CustomResourceDefinition, GADGETS))
    name = "gadgets.apply.example.com"
    events = aiter(client.watch(apiextensions.CustomResourceDefinition, fields={"metadata.name": name}))
    async for event in events:
        conditions = event.object.status.conditions or []
        if any(condition.type == "Established" and condition.status == "True" for condition in conditions):
            break
    await events.aclose()


def deployment() -> apps.Deployment:
    labels = {"app": "web"}
    container = core.Container(
        name="web",
        image="nginx",
        ports=[core.ContainerPort(container_port=80)],
        resources=core.ResourceRequirements(requests={"cpu": Quantity("1000m")}),
    )
    template = core.PodTemplateSpec(metadata=meta.ObjectMeta(labels=labels), spec=core.PodSpec(containers=[container]))
    return apps.Deployment(
        metadata=meta.ObjectMeta(name="web"),
        spec=apps.DeploymentSpec(replicas=0, selector=meta.LabelSelector(match_labels=labels), template=template),
    )


@pytest.mark.promise(
    "Owned objects and `apply`",
    "Nothing is written when nothing would change, whatever the server made of the values.",
)
async def test_a_resync_sends_nothing_before_and_after_the_watch_has_confirmed_our_write(bench: Bench) -> None:
    made = await bench.applier.apply(bench.owner, deployment())
    assert not (await bench.applier.apply(bench.owner, deployment())).written  # from the overlay
    # A later change by another client proves that the watch has passed our own write.
    await bench.client.patch(apps.Deployment, "web", MergePatch({"metadata": {"labels": {"theirs": "x"}}}))
    await bench.until(lambda: "theirs" in read_labels(bench))
    assert not (await bench.applier.apply(bench.owner, deployment())).written
    assert bench.writes == ["create deployments.apps", "patch deployments.apps"]
    assert made.written


def read_labels(bench: Bench) -> dict[str, str]:
    found = bench.kinds.read(apps.Deployment, "web", bench.client.namespace)
    return found.metadata.labels if found is not None else {}


async def test_restores_a_change_that_the_watch_delivers(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, deployment())
    await bench.client.patch(apps.Deployment, "web", MergePatch({"spec": {"replicas": 5}}))

    def replicas() -> int | None:
        found = bench.kinds.read(apps.Deployment, "web", bench.client.namespace)
        return found.spec.replicas if found is not None else None

    await bench.until(lambda: replicas() == 5)
    applied = await bench.applier.apply(bench.owner, deployment())
    assert applied.written
    assert applied.object.spec.replicas == 0
    assert replicas() == 0


async def test_creates_and_changes_a_custom_resource_and_sends_nothing_else(bench: Bench) -> None:
    def gadget(**fields: object) -> Gadget:
        return Gadget(metadata=meta.ObjectMeta(name="one"), spec=GadgetSpec(**fields))  # type: ignore[arg-type]

    made = await bench.applier.apply(bench.owner, gadget(tags=[], note=""))
    assert made.object.spec == GadgetSpec(size=3, tags=[], note="")
    assert not (await bench.applier.apply(bench.owner, gadget(tags=[], note=""))).written
    assert bench.writes == ["create gadgets.apply.example.com"]
    assert (await bench.applier.apply(bench.owner, gadget(size=0, note=""))).object.spec == GadgetSpec(size=0, note="")
    assert (await bench.applier.apply(bench.owner, gadget(note="x"))).object.spec == GadgetSpec(size=3, note="x")


async def test_pruned_objects_do_not_return(bench: Bench) -> None:
    old, kept = (core.ConfigMap(metadata=meta.ObjectMeta(name=name), data={"a": "1"}) for name in ("old", "kept"))
    for wanted in (old, kept):
        await bench.applier.apply(bench.owner, wanted)
    keep = [kept]
    pruned = await bench.applier.prune(bench.owner, [core.ConfigMap], keep)
    assert [key.name for _, key in pruned] == ["old"]
    assert await bench.applier.prune(bench.owner, [core.ConfigMap], keep) == []
    assert bench.kinds.read(core.ConfigMap, "old", bench.client.namespace) is None
    assert bench.kinds.read(core.ConfigMap, "kept", bench.client.namespace) is not None
