"""What can be seen of the sample-controller only from inside; its promises are tested beside it, in `examples/foo`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from kubewright.api import apps, meta
from kubewright.client import Client
from kubewright.clock import VirtualClock
from tests.operator.conftest import Calls, events, find, settled
from tests.patience import until

pytestmark = [pytest.mark.clusters, pytest.mark.usefixtures("foos")]


def make(example: ModuleType, namespace: str) -> Any:
    return example.Foo(
        metadata=meta.ObjectMeta(name="example", namespace=namespace),
        spec=example.FooSpec(deployment_name="web", replicas=2),
    )


async def deployment(client: Client, namespace: str) -> apps.Deployment:
    """The Deployment, as soon as it is there."""
    return await until(lambda: find(client, apps.Deployment, "web", namespace))


async def test_writes_have_the_operators_field_manager(example: ModuleType, client: Client, namespace: str) -> None:
    async with example.operator.running(client, install_crds=False) as running:
        foo = await client.create(make(example, namespace))
        made = await deployment(client, namespace)
        await settled(running)

        async def synced() -> Any:
            return await events(client, namespace, "Synced")

        [event] = await until(synced)
    assert {entry.manager for entry in made.metadata.managed_fields} == {"sample-controller-create"}
    assert event.involved_object.uid == foo.metadata.uid
    found = await client.get(example.Foo, "example", namespace)
    assert {entry.manager: entry.subresource for entry in found.metadata.managed_fields} == {
        "kubewright": None,  # the client of this test
        "sample-controller-foo-status": "status",
    }


@pytest.mark.promise(
    "Owned objects and `apply`",
    "Nothing is written when nothing would change, whatever the server made of the values.",
)
async def test_a_resync_of_an_unchanged_object_makes_no_api_call(
    example: ModuleType, client: Client, calls: Calls, namespace: str
) -> None:
    """Also in a process that only finds the objects, after its first reconcile of them."""
    await client.create(make(example, namespace))
    for _ in range(2):  # the second one makes what the first has created its own; that is a write, which others see
        async with example.operator.running(client, install_crds=False) as running:
            await deployment(client, namespace)
            await settled(running)
    clock = VirtualClock()
    async with example.operator.running(calls.client, install_crds=False, clock=clock) as running:
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


@pytest.mark.promise("Our own writes", "The next reconcile of a key sees what the last one wrote.")
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
