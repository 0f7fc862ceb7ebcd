"""The sample-controller does what it says: the operator of `foo.py`, and the same by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from by_hand import FooController
from foo import Foo, FooSpec, nginx_deployment, operator

from kubewright.api import apps, core, meta
from kubewright.client import Client, JsonPatch, MergePatch, NotFound
from kubewright.clock import VirtualClock
from kubewright.crd import install

pytestmark = [pytest.mark.clusters, pytest.mark.usefixtures("nodes")]


@asynccontextmanager
async def by_hand(client: Client, namespace: str) -> AsyncIterator[None]:
    """The controller without `Operator`, at work."""
    await install(client, Foo)
    task = asyncio.create_task(FooController(client, namespaces=(namespace,)).run())
    yield
    task.cancel()
    await asyncio.wait([task])


Controller = Callable[[], AbstractAsyncContextManager[object]]


@pytest.fixture(params=["operator", "by_hand"])
def controller(request: pytest.FixtureRequest, client: Client, namespace: str) -> Controller:
    """What is tried: `async with controller():`."""
    if request.param == "by_hand":
        return lambda: by_hand(client, namespace)
    return lambda: operator.running(client, namespaces=[namespace])


def make(namespace: str, *, deployment: str = "web", replicas: int | None = 2) -> Foo:
    metadata = meta.ObjectMeta(name="example", namespace=namespace)
    return Foo(metadata=metadata, spec=FooSpec(deployment_name=deployment, replicas=replicas))


async def scaled(client: Client, namespace: str, replicas: int) -> apps.Deployment:
    """The Deployment, as soon as it has that size."""
    return await client.wait_for(apps.Deployment, "web", lambda found: found.spec.replicas == replicas, namespace)


async def event(client: Client, namespace: str, reason: str) -> core.Event:
    """The first event with that reason."""
    async for told in client.watch(core.Event, namespace):
        if told.object.reason == reason:
            return told.object
    raise AssertionError("unreachable")


async def until(check: Callable[[], bool]) -> None:
    """Wait until it is so."""
    while True:
        if check():
            return
        await asyncio.sleep(0.02)


async def gone(client: Client, kind: type[Foo] | type[apps.Deployment], name: str, namespace: str) -> None:
    """Wait until there is no such object."""
    while True:
        try:
            await client.get(kind, name, namespace)
        except NotFound:
            return
        await asyncio.sleep(0.05)


async def test_a_foo_gets_its_deployment_its_status_and_an_event(
    controller: Controller, client: Client, namespace: str
) -> None:
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


async def test_the_deployment_follows_the_foo_and_drift_is_repaired(
    controller: Controller, client: Client, namespace: str
) -> None:
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


async def test_a_foo_without_replicas_leaves_the_deployments_own_number_alone(
    controller: Controller, client: Client, namespace: str
) -> None:
    """Also one that had them, and then gave them up."""
    async with controller():
        await client.create(make(namespace, replicas=3))
        await scaled(client, namespace, 3)
        await client.patch(Foo, "example", JsonPatch([{"op": "remove", "path": "/spec/replicas"}]), namespace)
        # What comes next is seen after the change above, so the number would have been put back or taken away by then.
        await client.patch(apps.Deployment, "web", MergePatch({"metadata": {"labels": {"seen": "no"}}}), namespace)
        await client.wait_for(Foo, "example", lambda found: found.status.available_replicas == 3, namespace)
        assert (await scaled(client, namespace, 3)).spec.replicas == 3
        await client.patch(apps.Deployment, "web", MergePatch({"spec": {"replicas": 4}}), namespace)
        await client.wait_for(Foo, "example", lambda found: found.status.available_replicas == 4, namespace)
        assert (await client.get(apps.Deployment, "web", namespace)).spec.replicas == 4


async def test_the_status_follows_the_deployment_down_to_an_explicit_zero(
    controller: Controller, client: Client, namespace: str
) -> None:
    async with controller():
        await client.create(make(namespace, replicas=None))
        await client.wait_for(Foo, "example", lambda found: found.status.available_replicas == 1, namespace)
        await client.patch(apps.Deployment, "web", MergePatch({"spec": {"replicas": 0}}), namespace)
        await client.wait_for(Foo, "example", lambda found: found.status.available_replicas == 0, namespace)
    untyped = await client.kind("example.com/v1alpha1", "Foo")
    assert (await client.get(untyped, "example", namespace))["status"] == {"availableReplicas": 0}


async def test_somebody_elses_deployment_stays_untouched_with_a_warning_until_it_goes(
    controller: Controller, client: Client, namespace: str
) -> None:
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
        # Retried with backoff: nobody tells the Foo that the Deployment, which is not its own, is gone.
        await client.wait_for(apps.Deployment, "web", lambda found: bool(found.metadata.owner_references), namespace)


async def test_deleting_the_foo_deletes_the_deployment(controller: Controller, client: Client, namespace: str) -> None:
    async with controller():
        await client.create(make(namespace))
        await scaled(client, namespace, 2)
        await client.delete(Foo, "example", namespace, propagation="Foreground")
        await gone(client, apps.Deployment, "web", namespace)
        await gone(client, Foo, "example", namespace)


async def test_an_empty_deployment_name_is_logged_and_not_retried_until_the_foo_changes(
    controller: Controller, client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with controller():
        await client.create(make(namespace, deployment=""))
        await until(lambda: "deploymentName must be specified" in caplog.text)
        await client.patch(Foo, "example", MergePatch({"spec": {"deploymentName": "web"}}), namespace)
        await scaled(client, namespace, 2)
    assert sum("deploymentName must be specified" in record.getMessage() for record in caplog.records) == 1


async def test_a_resync_of_an_unchanged_foo_makes_no_api_call(client: Client, namespace: str) -> None:
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
