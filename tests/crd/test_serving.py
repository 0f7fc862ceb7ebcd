"""Waiting until a kind is served, whichever client defines it: on an embedded cluster with a virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

import kubewright as kw
from kubewright.api import Object, Untyped, apiextensions, apps, networking
from kubewright.client import Client, Request, Response
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.crd import InstallError, crd_of, install, wait_until_served
from tests.transports.disturbed import Disturbed
from tests.transports.scripted import ScriptedResponse


class Spec(kw.Model):
    size: int = 0


@kw.resource("serving.example.com/v1", short_names=["taken"])
class Foo(kw.Resource[Spec, None]): ...


@kw.resource("serving.example.com/v1", short_names=["taken"])
class Rival(kw.Resource[Spec, None]): ...


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest_asyncio.fixture
async def client(clock: VirtualClock) -> AsyncIterator[Client]:
    async with Cluster(clock=clock, seed=1) as cluster, cluster.client() as client:
        yield client


async def test_waits_for_kind_of_another_program(client: Client, clock: VirtualClock) -> None:
    waiting = asyncio.ensure_future(wait_until_served(client, Foo))
    await clock.advance(20)
    assert not waiting.done()
    await client.create(crd_of(Foo))
    await clock.advance(1)
    [definition] = await waiting
    assert definition.metadata.name == "foos.serving.example.com"
    assert await client.list(Foo) == []


async def test_timeout_names_undefined_kind(client: Client, clock: VirtualClock) -> None:
    waiting = asyncio.ensure_future(wait_until_served(client, Foo, timeout="5s"))
    await clock.advance(5)
    with pytest.raises(InstallError) as late:
        await waiting
    assert str(late.value) == (
        "CustomResourceDefinition foos.serving.example.com: not served after 5s: Foo is not defined;"
        " install its definition"
    )


async def test_waits_until_discovery_lists_the_kind(client: Client, clock: VirtualClock) -> None:
    listed, asked = False, asyncio.Event()

    def hide(request: Request) -> Response | None:
        if listed or request.path != "/apis/serving.example.com/v1":
            return None
        asked.set()
        return ScriptedResponse(404, {"kind": "Status", "code": 404})

    behind = client.through(lambda inner: Disturbed(inner, hide))
    installing = asyncio.ensure_future(install(behind, Foo))
    await asked.wait()
    await clock.advance(29)
    waiting = asyncio.ensure_future(wait_until_served(behind, Foo))
    await clock.advance(1)
    with pytest.raises(InstallError, match=r"after 30s: Foo is established, but discovery does not list it in v1 yet"):
        await installing
    assert not waiting.done()
    listed = True
    await clock.advance(1)
    assert len(await waiting) == 1


async def test_taken_names_fail_immediately(client: Client) -> None:
    await install(client, Foo)
    await client.create(crd_of(Rival))
    with pytest.raises(InstallError, match=r"rivals.serving.example.com: .*NamesAccepted is False .*taken"):
        await wait_until_served(client, Rival)


async def test_waits_for_released_names(client: Client, clock: VirtualClock) -> None:
    refused = await refused_without_a_holder(client)
    waiting = asyncio.ensure_future(wait_until_served(client, Rival))
    await clock.advance(20)
    assert not waiting.done()
    refused.metadata.labels["looked-at"] = "again"
    await client.update(refused)
    [definition] = await waiting
    assert definition.status.accepted_names is not None
    assert definition.status.accepted_names.short_names == ["taken"]


async def test_timeout_names_rejected_names(client: Client, clock: VirtualClock) -> None:
    await refused_without_a_holder(client)
    waiting = asyncio.ensure_future(wait_until_served(client, Rival))
    await clock.advance(30)
    with pytest.raises(InstallError, match=r"after 30s: Rival is defined, but NamesAccepted is False .*: .*taken"):
        await waiting


async def refused_without_a_holder(client: Client) -> apiextensions.CustomResourceDefinition:
    """A definition with the conditions of the time when another definition had its short name."""
    await install(client, Foo)
    await client.create(crd_of(Rival))
    await client.delete(apiextensions.CustomResourceDefinition, "foos.serving.example.com")
    refused = await client.get(apiextensions.CustomResourceDefinition, "rivals.serving.example.com")
    assert ("NamesAccepted", "False") in [(each.type, each.status) for each in refused.status.conditions or ()]
    return refused


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        (apps.Deployment, r"Deployment \(apps/v1\)"),
        (networking.Ingress, r"Ingress \(networking.k8s.io/v1\)"),
        (
            Untyped.kind_of("rbac.authorization.k8s.io/v1", "Role", plural="roles"),
            r"Role \(rbac.authorization.k8s.io/v1\)",
        ),
    ],
)
async def test_rejects_built_in_kind(client: Client, kind: type[Object], named: str) -> None:
    with pytest.raises(TypeError, match=f"{named} is built in and has no definition to wait for"):
        await wait_until_served(client, kind)


async def test_waits_for_a_kind_of_a_kubernetes_add_on(client: Client, clock: VirtualClock) -> None:
    gateway = Untyped.kind_of("gateway.networking.k8s.io/v1", "Gateway", plural="gateways")
    waiting = asyncio.ensure_future(wait_until_served(client, gateway, timeout=5))
    await clock.advance(5)
    with pytest.raises(InstallError, match=r"gateways.gateway.networking.k8s.io: .*Gateway is not defined"):
        await waiting
