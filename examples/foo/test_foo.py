"""Tests of the sample-controller: `foo.py` and `without_operator.py`, on both clusters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from foo import Foo, FooSpec, nginx_deployment, operator
from without_operator import FooController

from kubewright.api import apps, core, meta
from kubewright.client import Client, JsonPatch, MergePatch, NotFound
from kubewright.clock import VirtualClock
from kubewright.crd import install
from kubewright.testing import FakeNode

pytestmark = [pytest.mark.clusters, pytest.mark.usefixtures("nodes")]


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    """The embedded cluster runs Deployments, too."""
    return {"controllers": True, "workloads": True}


@pytest.fixture
async def nodes(cluster_kind: str, client: Client, namespace: str) -> AsyncIterator[None]:
    """Pods become ready: on the real control plane, which has no nodes, through one that needs no machine."""
    async with AsyncExitStack() as stack:
        if cluster_kind == "real":
            await stack.enter_async_context(FakeNode(client, name=f"node-{namespace}", namespace=namespace))
        yield


@asynccontextmanager
async def components(client: Client, namespace: str) -> AsyncIterator[None]:
    """Runs the controller of `without_operator.py`."""
    await install(client, Foo)
    task = asyncio.create_task(FooController(client, namespaces=(namespace,)).run())
    yield
    task.cancel()
    await asyncio.wait([task])


Controller = Callable[[], AbstractAsyncContextManager[object]]


@pytest.fixture(params=["operator", "without_operator"])
def controller(request: pytest.FixtureRequest, client: Client, namespace: str) -> Controller:
    """The controller under test: `async with controller():`."""
    if request.param == "without_operator":
        return lambda: components(client, namespace)
    return lambda: operator.running(client, namespaces=[namespace])


def make(namespace: str, *, deployment: str = "web", replicas: int | None = 2) -> Foo:
    metadata = meta.ObjectMeta(name="example", namespace=namespace)
    return Foo(metadata=metadata, spec=FooSpec(deployment_name=deployment, replicas=replicas))


async def scaled(client: Client, namespace: str, replicas: int) -> apps.Deployment:
    """Returns the Deployment as soon as it has that size."""
    return await client.wait_for(apps.Deployment, "web", lambda found: found.spec.replicas == replicas, namespace)


async def event(client: Client, namespace: str, reason: str) -> core.Event:
    """Returns the first event with that reason."""
    async for watched in client.watch(core.Event, namespace):
        if watched.object.reason == reason:
            return watched.object
    raise AssertionError("unreachable")


async def until(check: Callable[[], bool]) -> None:
    """Waits until the condition is true."""
    while True:
        if check():
            return
        await asyncio.sleep(0.02)


async def gone(client: Client, kind: type[Foo] | type[apps.Deployment], name: str, namespace: str) -> None:
    """Waits until the object is deleted."""
    while True:
        try:
            await client.get(kind, name, namespace)
        except NotFound:
            return
        await asyncio.sleep(0.05)


async def test_creates_deployment_status_and_event(controller: Controller, client: Client, namespace: str) -> None:
    async with controller():
        foo = await client.create(make(namespace))
        made = await scaled(client, namespace, 2)
        await client.wait_for(Foo, "example", lambda found: found.status.available_replicas == 2, namespace)
        synced = await event(client, namespace, "Synced")
    labels = {"app": "nginx", "controller": "example"}
    assert made.spec.selector.match_labels == labels
    assert made.spec.template.metadata is not None
    assert made.spec.template.metadata.labels == labels
    assert made.spec.template.spec is not None
    assert [(box.name, box.image) for box in made.spec.template.spec.containers] == [("nginx", "nginx:latest")]
    [owner] = made.metadata.owner_references
    assert (owner.kind, owner.uid, owner.controller) == ("Foo", foo.metadata.uid, True)
    assert (synced.type, synced.message) == ("Normal", "Foo synced successfully")
    assert synced.reporting_component == "sample-controller"


async def test_follows_the_foo_and_repairs_drift(controller: Controller, client: Client, namespace: str) -> None:
    async with controller():
        await client.create(make(namespace, replicas=1))
        await scaled(client, namespace, 1)
        await client.patch(Foo, "example", MergePatch({"spec": {"replicas": 3}}), namespace)
        await scaled(client, namespace, 3)
        drifted = await client.patch(apps.Deployment, "web", MergePatch({"spec": {"replicas": 7}}), namespace)
        assert drifted.spec.replicas == 7
        repaired = await scaled(client, namespace, 3)
        await client.delete(repaired)
        await client.wait_for(
            apps.Deployment, "web", lambda found: found.metadata.uid != repaired.metadata.uid, namespace
        )


async def test_leaves_replicas_alone_without_spec_replicas(
    controller: Controller, client: Client, namespace: str
) -> None:
    """Also a Foo whose spec.replicas was removed."""
    async with controller():
        await client.create(make(namespace, replicas=3))
        await scaled(client, namespace, 3)
        await client.patch(Foo, "example", JsonPatch([{"op": "remove", "path": "/spec/replicas"}]), namespace)
        # The next change is seen after the one above; by then the number would have been restored or removed.
        await client.patch(apps.Deployment, "web", MergePatch({"metadata": {"labels": {"seen": "no"}}}), namespace)
        await client.wait_for(Foo, "example", lambda found: found.status.available_replicas == 3, namespace)
        assert (await scaled(client, namespace, 3)).spec.replicas == 3
        await client.patch(apps.Deployment, "web", MergePatch({"spec": {"replicas": 4}}), namespace)
        await client.wait_for(Foo, "example", lambda found: found.status.available_replicas == 4, namespace)
        assert (await client.get(apps.Deployment, "web", namespace)).spec.replicas == 4


async def test_reports_available_replicas_down_to_zero(controller: Controller, client: Client, namespace: str) -> None:
    async with controller():
        await client.create(make(namespace, replicas=None))
        await client.wait_for(Foo, "example", lambda found: found.status.available_replicas == 1, namespace)
        await client.patch(apps.Deployment, "web", MergePatch({"spec": {"replicas": 0}}), namespace)
        await client.wait_for(Foo, "example", lambda found: found.status.available_replicas == 0, namespace)
    untyped = await client.kind("example.com/v1alpha1", "Foo")
    assert (await client.get(untyped, "example", namespace))["status"] == {"availableReplicas": 0}


async def test_does_not_touch_a_foreign_deployment(controller: Controller, client: Client, namespace: str) -> None:
    foo = make(namespace)
    theirs = nginx_deployment(foo)
    theirs.spec.replicas = 0
    theirs = await client.create(theirs)
    async with controller():
        await client.create(foo)
        warning = await event(client, namespace, "ErrResourceExists")
        assert warning.type == "Warning"
        assert warning.message == 'Resource "web" already exists and is not managed by Foo'
        still = await client.get(apps.Deployment, "web", namespace)
        assert (still.metadata.generation, still.spec.replicas) == (theirs.metadata.generation, 0)
        assert still.metadata.owner_references == []
        await client.delete(still)
        # Retried with backoff, because the deletion of a foreign Deployment causes no event for the Foo.
        await client.wait_for(apps.Deployment, "web", lambda found: bool(found.metadata.owner_references), namespace)


async def test_deletes_the_deployment_with_the_foo(controller: Controller, client: Client, namespace: str) -> None:
    async with controller():
        await client.create(make(namespace))
        await scaled(client, namespace, 2)
        await client.delete(Foo, "example", namespace, propagation="Foreground")
        await gone(client, apps.Deployment, "web", namespace)
        await gone(client, Foo, "example", namespace)


async def test_does_not_retry_an_empty_deployment_name(
    controller: Controller, client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with controller():
        await client.create(make(namespace, deployment=""))
        await until(lambda: "deploymentName must be specified" in caplog.text)
        await client.patch(Foo, "example", MergePatch({"spec": {"deploymentName": "web"}}), namespace)
        await scaled(client, namespace, 2)
    assert sum("deploymentName must be specified" in record.getMessage() for record in caplog.records) == 1


async def test_resync_of_an_unchanged_foo_sends_no_request(client: Client, namespace: str) -> None:
    sent: list[str] = []
    noting = client.with_hooks(lambda request: sent.append(str(request)) if request.verb != "watch" else None)
    clock = VirtualClock()
    async with operator.running(noting, namespaces=[namespace], clock=clock) as running:
        await client.create(make(namespace))
        await client.wait_for(Foo, "example", lambda found: found.status.available_replicas == 2, namespace)
        controller = running.controller(Foo)
        await until(lambda: controller.idle)
        sent.clear()
        for _ in range(3):
            before = controller.stats.reconciles["success"]
            await clock.advance(30)
            await until(lambda: controller.idle and controller.stats.reconciles["success"] > before)  # noqa: B023
    assert [request for request in sent if "events" not in request] == []


async def test_deployment_of_a_former_name_is_deleted(client: Client, namespace: str) -> None:
    """Found by `kubewright explore`. The sample-controller in Go leaves the first Deployment behind."""
    async with operator.running(client, namespaces=[namespace]):
        await client.create(make(namespace))
        await scaled(client, namespace, 2)
        await client.patch(Foo, "example", MergePatch({"spec": {"deploymentName": "renamed"}}), namespace)
        await client.wait_for(apps.Deployment, "renamed", lambda found: found.spec.replicas == 2, namespace)
        await gone(client, apps.Deployment, "web", namespace)
