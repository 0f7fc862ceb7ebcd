"""The example without `Operator`, on both clusters."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from types import ModuleType
from typing import Any

import pytest

from kubewright.api import apps, from_dict, meta
from kubewright.client import Client, MergePatch
from tests.operator.conftest import EXAMPLE, events, find, load, until

pytestmark = [pytest.mark.clusters, pytest.mark.usefixtures("foos")]


@pytest.fixture
async def by_hand(client: Client, namespace: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ModuleType]:
    """The example's module, and its controller at work."""
    monkeypatch.syspath_prepend(EXAMPLE)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    module = load(EXAMPLE / "by_hand.py")
    task = asyncio.create_task(module.FooController(client, namespaces=(namespace,)).run())
    yield module
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def foo(module: ModuleType, namespace: str, replicas: int = 2) -> Any:
    content = {"metadata": {"name": "example", "namespace": namespace}}
    spec = {"deploymentName": "web", "replicas": replicas}
    return from_dict(module.Foo, content | {"spec": spec})


async def deployment(client: Client, namespace: str, replicas: int) -> apps.Deployment:
    async def check() -> apps.Deployment | None:
        found = await find(client, apps.Deployment, "web", namespace)
        return found if found is not None and found.spec.replicas == replicas else None

    return await until(check)


async def test_the_deployment_is_made_follows_the_foo_and_is_put_back(
    by_hand: ModuleType, client: Client, namespace: str
) -> None:
    await client.create(foo(by_hand, namespace))
    made = await deployment(client, namespace, 2)
    assert [owner.kind for owner in made.metadata.owner_references] == ["Foo"]
    await client.patch(by_hand.Foo, "example", MergePatch({"spec": {"replicas": 3}}), namespace)
    await deployment(client, namespace, 3)
    await client.patch(apps.Deployment, "web", MergePatch({"spec": {"replicas": 9}}), namespace)
    await deployment(client, namespace, 3)
    await client.delete(apps.Deployment, "web", namespace)
    await deployment(client, namespace, 3)
    await until(lambda: events(client, namespace, "Synced"))


async def test_the_status_follows_the_deployment(by_hand: ModuleType, client: Client, namespace: str) -> None:
    await client.create(foo(by_hand, namespace))
    await deployment(client, namespace, 2)
    numbers = {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2}
    await client.patch(apps.Deployment, "web", MergePatch({"status": numbers}), namespace, subresource="status")

    async def shown() -> bool:
        return bool((await client.get(by_hand.Foo, "example", namespace)).status.available_replicas == 2)

    await until(shown)


async def test_somebody_elses_deployment_is_left_alone(by_hand: ModuleType, client: Client, namespace: str) -> None:
    theirs = by_hand.nginx_deployment(foo(by_hand, namespace, replicas=1))
    assert theirs.metadata == meta.ObjectMeta(name="web", namespace=namespace)
    theirs = await client.create(theirs)
    await client.create(foo(by_hand, namespace))
    [event] = await until(lambda: events(client, namespace, "ErrResourceExists"))
    assert (event.type, event.message) == ("Warning", 'Resource "web" already exists and is not managed by Foo')
    still = await client.get(apps.Deployment, "web", namespace)
    assert still.metadata.resource_version == theirs.metadata.resource_version
