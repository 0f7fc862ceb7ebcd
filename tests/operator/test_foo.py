"""The sample-controller of the examples, on both clusters."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import msgspec
import pytest

from kubewright.api import apps, meta
from kubewright.client import Client, MergePatch
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.testing import ControlPlane
from tests.operator.conftest import Calls, events, find, install_foos, settled, until

pytestmark = [pytest.mark.clusters, pytest.mark.usefixtures("foos")]


def make(example: ModuleType, namespace: str, *, deployment: str = "web", replicas: int | None = 2) -> Any:
    return example.Foo(
        metadata=meta.ObjectMeta(name="example", namespace=namespace),
        spec=example.FooSpec(deployment_name=deployment, replicas=replicas),
    )


async def deployment(client: Client, namespace: str, **spec: Any) -> apps.Deployment:
    """The Deployment, as soon as it has these values in its spec."""

    async def check() -> apps.Deployment | None:
        found = await find(client, apps.Deployment, "web", namespace)
        if found is None or any(getattr(found.spec, name) != value for name, value in spec.items()):
            return None
        return found

    return await until(check)


async def test_a_foo_gets_its_deployment_its_status_and_an_event(
    example: ModuleType, client: Client, namespace: str
) -> None:
    async with example.operator.running(client, install_crds=False) as running:
        foo = await client.create(make(example, namespace))
        made = await deployment(client, namespace)
        await settled(running)

        async def synced() -> Any:
            return await events(client, namespace, "Synced")

        [event] = await until(synced)
    labels = {"app": "nginx", "controller": "example"}
    assert made.spec.replicas == 2
    assert made.spec.selector.match_labels == labels
    assert made.spec.template.metadata is not None
    assert made.spec.template.metadata.labels == labels
    assert made.spec.template.spec is not None
    assert [(box.name, box.image) for box in made.spec.template.spec.containers] == [("nginx", "nginx:latest")]
    [owner] = made.metadata.owner_references
    assert (owner.kind, owner.name, owner.uid, owner.controller) == ("Foo", "example", foo.metadata.uid, True)
    assert {entry.manager for entry in made.metadata.managed_fields} == {"sample-controller-create"}
    assert (event.type, event.message) == ("Normal", "Foo synced successfully")
    assert event.reporting_component == "sample-controller"
    assert event.involved_object.uid == foo.metadata.uid
    found = await client.get(example.Foo, "example", namespace)
    assert {entry.manager: entry.subresource for entry in found.metadata.managed_fields} == {
        "kubewright": None,  # the client of this test
        "sample-controller": "status",
    }
    raw = found.metadata.origin.raw
    assert msgspec.json.decode(raw)["status"] == {"availableReplicas": 0}, "an explicit 0 is written"


async def test_the_deployment_follows_the_foo_and_drift_is_repaired(
    example: ModuleType, client: Client, namespace: str
) -> None:
    async with example.operator.running(client, install_crds=False):
        foo = await client.create(make(example, namespace, replicas=1))
        made = await deployment(client, namespace, replicas=1)
        await client.patch(example.Foo, foo.metadata.name, MergePatch({"spec": {"replicas": 3}}), namespace)
        made = await deployment(client, namespace, replicas=3)
        drifted = await client.patch(apps.Deployment, "web", MergePatch({"spec": {"replicas": 7}}), namespace)
        assert drifted.spec.replicas == 7
        made = await deployment(client, namespace, replicas=3)
        await client.delete(apps.Deployment, "web", namespace)

        async def made_again() -> bool:
            found = await find(client, apps.Deployment, "web", namespace)
            return found is not None and found.metadata.uid != made.metadata.uid

        await until(made_again)


async def test_without_replicas_the_deployments_own_number_is_left_alone(
    example: ModuleType, client: Client, namespace: str
) -> None:
    async with example.operator.running(client, install_crds=False) as running:
        await client.create(make(example, namespace, replicas=None))
        await deployment(client, namespace, replicas=1)
        await client.patch(apps.Deployment, "web", MergePatch({"spec": {"replicas": 4}}), namespace)
        running.enqueue(example.Foo, f"{namespace}/example")
        await settled(running)
        await deployment(client, namespace, replicas=4)


async def test_the_status_follows_the_deployment_at_once(example: ModuleType, client: Client, namespace: str) -> None:
    async with example.operator.running(client, install_crds=False):
        await client.create(make(example, namespace))
        made = await deployment(client, namespace)
        for available in (2, 0):
            numbers = {"replicas": 2, "readyReplicas": available, "availableReplicas": available}
            await client.patch(
                apps.Deployment, made.metadata.name, MergePatch({"status": numbers}), namespace, subresource="status"
            )

            async def shown(available: int = available) -> bool:
                found = await client.get(example.Foo, "example", namespace)
                return bool(found.status.available_replicas == available)

            await until(shown)


async def test_somebody_elses_deployment_is_left_alone_with_a_warning_and_backoff(
    example: ModuleType, client: Client, namespace: str
) -> None:
    foo = make(example, namespace)
    theirs = await client.create(example.nginx_deployment(foo))
    async with example.operator.running(client, install_crds=False) as running:
        await client.create(foo)

        async def warned() -> Any:
            return [event for event in await events(client, namespace, "ErrResourceExists") if event.series]

        [event] = await until(warned)
        assert (event.type, event.message) == (
            "Warning",
            'Resource "web" already exists and is not managed by Foo',
        )
        stats = running.controller(example.Foo).stats
        assert stats.reconciles["error"] > 1
        assert not stats.reconciles["success"]
        still = await client.get(apps.Deployment, "web", namespace)
        assert still.metadata.resource_version == theirs.metadata.resource_version
        await client.delete(apps.Deployment, "web", namespace)

        async def ours() -> bool:
            found = await find(client, apps.Deployment, "web", namespace)
            return found is not None and bool(found.metadata.owner_references)

        await until(ours)


async def test_an_empty_deployment_name_is_not_retried_until_the_foo_changes(
    example: ModuleType, client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with example.operator.running(client, install_crds=False) as running:
        await client.create(make(example, namespace, deployment=""))
        stats = running.controller(example.Foo).stats

        async def failed() -> bool:
            return bool(stats.reconciles["terminal_error"] == 1)

        await until(failed)
        assert "deploymentName must be specified" in caplog.text
        assert not running.controller(example.Foo).queue.keys(), "nothing waits to be retried"
        await client.patch(example.Foo, "example", MergePatch({"spec": {"deploymentName": "web"}}), namespace)
        await deployment(client, namespace)


async def test_a_resync_of_an_unchanged_object_makes_no_api_call(
    example: ModuleType, client: Client, calls: Calls, namespace: str
) -> None:
    """Also in a process that only finds the objects, after its first reconcile of them."""
    await client.create(make(example, namespace))
    for _ in range(2):  # the second one makes what the first has created its own; that is a write, which others see
        async with example.operator.running(client, install_crds=False) as running:
            await deployment(client, namespace)
            await settled(running)
    example.operator.clock = clock = VirtualClock()
    async with example.operator.running(calls.client, install_crds=False) as running:
        await settled(running)
        stats = running.controller(example.Foo).stats
        assert calls.writes() == [f"patch deployments.apps {namespace}/web"]  # it makes sure of the object, once
        calls.requests.clear()
        before = stats.reconciles["success"]
        for resyncs in (1, 2, 3):
            await clock.advance(30)
            await settled(running)
            assert stats.reconciles == {"success": before + resyncs}
        assert calls.requests == []


async def test_one_reconcile_creates_the_child_and_the_next_sees_it_before_the_watch_does(
    example: ModuleType, client: Client, calls: Calls, namespace: str
) -> None:
    async with example.operator.running(calls.client, install_crds=False) as running:
        foo = await client.create(make(example, namespace))
        await deployment(client, namespace)
        for _ in range(20):
            running.enqueue(example.Foo, foo)
            await settled(running)
    assert calls.writes() == [
        f"create deployments.apps {namespace}/web",
        f"patch foos.example.com/status {namespace}/example",
    ]


async def takes_its_deployment_along(example: ModuleType, client: Client) -> None:
    """A controller that restored the Deployment of a Foo in deletion would keep both for ever."""
    example.operator.namespaces = ("default",)
    async with example.operator.running(client):
        await client.create(make(example, "default"))
        await deployment(client, "default")
        await client.delete(example.Foo, "example", "default", propagation="Foreground")

        async def gone() -> bool:
            foo = await find(client, example.Foo, "example", "default")
            return foo is None and await find(client, apps.Deployment, "web", "default") is None

        await until(gone)


async def test_a_foo_in_foreground_deletion_takes_its_deployment_along(
    example: ModuleType, control_plane: ControlPlane
) -> None:
    # A control plane of its own: the garbage collector and its colleagues would disturb the other tests.
    plane = ControlPlane(controllers=True, binaries=control_plane.binaries)
    async with plane, Client.connect(kubeconfig=plane.kubeconfig) as client:
        await install_foos(client)
        await takes_its_deployment_along(example, client)


@pytest.mark.clusters("embedded")
async def test_also_on_an_embedded_cluster_whose_garbage_is_collected(example: ModuleType) -> None:
    async with Cluster() as cluster, cluster.client() as client:
        await takes_its_deployment_along(example, client)
