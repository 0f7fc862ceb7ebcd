"""The five examples behind one interface: give work, round by round, and check the result."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import foo as foos
import memcached as memcacheds
import network as networks
import password as passwords
import testresource as testresources
from neutron_server import NeutronServer

from kubewright.api import Object, apps, core, is_condition_true, is_controlled_by, meta
from kubewright.client import Client, MergePatch, NotFound
from kubewright.operator import Operator

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class World:
    """The surroundings of a system: a cluster, a namespace and a Neutron server."""

    client: Client
    namespace: str
    neutron: NeutronServer

    def meta(self, name: str) -> meta.ObjectMeta:
        return meta.ObjectMeta(name=name, namespace=self.namespace)


@dataclass(frozen=True)
class System:
    """One of the examples."""

    name: str
    operator: Operator
    kind: type[Object]
    ask: Callable[[World, int], Awaitable[None]]
    """Creates or changes objects; each round differs."""
    done: Callable[[World, int], Awaitable[None]]
    """Returns when the work of all rounds up to this one is done. Raises if that is impossible."""

    @property
    def program(self) -> Path:
        return ROOT / "examples" / self.name / f"{self.name}.py"

    def environment(self, kubeconfig: Path, world: World, **more: str) -> dict[str, str]:
        """Returns the environment variables of the program."""
        return {
            **os.environ,
            "KUBECONFIG": str(kubeconfig),
            "KUBEWRIGHT_NAMESPACES": ",".join([world.namespace, *(["default"] if self.name == "testresource" else [])]),
            "KUBEWRIGHT_WEBHOOK_BIND": "0",
            "NEUTRON_URL": world.neutron.url,
            "NEUTRON_TOKEN": "demo",
            **more,
        }


async def written(world: World, obj: Object, change: dict[str, object]) -> None:
    """Creates or changes the object."""
    try:
        await world.client.patch(type(obj), obj.metadata.name, MergePatch(change), world.namespace)
    except NotFound:
        await world.client.create(obj)


# Foo


async def ask_foo(world: World, turn: int) -> None:
    spec = foos.FooSpec(deployment_name="web", replicas=turn % 5 + 1)
    await written(world, foos.Foo(metadata=world.meta("one"), spec=spec), {"spec": {"replicas": spec.replicas}})


async def foo_done(world: World, turn: int) -> None:
    replicas = turn % 5 + 1
    await world.client.wait_for(apps.Deployment, "web", lambda found: found.spec.replicas == replicas, world.namespace)
    foo = await world.client.wait_for(
        foos.Foo, "one", lambda found: found.status.available_replicas == replicas, world.namespace
    )
    deployments = await world.client.list(apps.Deployment, world.namespace)
    assert [one.metadata.name for one in deployments if is_controlled_by(one, foo)] == ["web"]


# TestResource


async def ask_testresource(world: World, turn: int) -> None:
    spec = testresources.TestResourceSpec(command="echo", custom_property=str(turn))
    await world.client.create(testresources.TestResource(metadata=world.meta(f"tr-{turn}"), spec=spec))


async def testresource_done(world: World, turn: int) -> None:
    names = {f"tr-{number}" for number in range(turn + 1)}
    while True:
        found = await world.client.list(testresources.TestResource, world.namespace)
        if {one.metadata.name for one in found if one.status == "HANDLED"} == names:
            break
        await asyncio.sleep(0.05)
    await world.client.wait_for(testresources.TestResource, "example-tr2", lambda found: True, "default")


# Network


def network_spec(turn: int) -> networks.NetworkSpec:
    return networks.NetworkSpec(cidr=f"10.{turn // 2}.0.0/16", gateway=f"10.{turn // 2}.0.{turn + 1}")


async def ask_network(world: World, turn: int) -> None:
    spec = network_spec(turn)
    obj = networks.Network(metadata=world.meta("one"), spec=spec)
    await written(world, obj, {"spec": {"cidr": spec.cidr, "gateway": spec.gateway}})


async def network_done(world: World, turn: int) -> None:
    spec = network_spec(turn)
    wanted = await world.client.get(networks.Network, "one", world.namespace)
    while True:
        ours = [one for one in world.neutron.networks.values() if one["description"] == wanted.metadata.uid]
        subnets = [
            (one["cidr"], one["gateway_ip"])
            for one in world.neutron.subnets.values()
            if one["network_id"] in {network["id"] for network in ours}
        ]
        tagged = [one["tags"] for one in ours] == [[wanted.metadata.uid]]
        if tagged and subnets == [(spec.cidr, spec.gateway)]:
            break
        await asyncio.sleep(0.02)
    await world.client.wait_for(
        networks.Network, "one", lambda found: is_condition_true(found.status, "Synced"), world.namespace
    )


# Password


async def ask_password(world: World, turn: int) -> None:
    spec = passwords.PasswordSpec(length=20 + turn)
    await world.client.create(passwords.Password(metadata=world.meta(f"password-{turn}"), spec=spec))


async def password_done(world: World, turn: int) -> None:
    while True:
        found = await world.client.list(passwords.Password, world.namespace)
        if [one.status.state for one in found] == ["InSync"] * (turn + 1):
            break
        await asyncio.sleep(0.05)
    made = {one.metadata.name: one for one in await world.client.list(core.Secret, world.namespace)}
    for password in found:
        secret = made[password.metadata.name]
        assert is_controlled_by(secret, password)
        assert len((secret.data or {})["password"]) == password.spec.length


# Memcached


async def ask_memcached(world: World, turn: int) -> None:
    """Replaces the object of the round before."""
    spec = memcacheds.MemcachedSpec(size=turn % 3 + 1)
    await world.client.create(memcacheds.Memcached(metadata=world.meta(f"cache-{turn}"), spec=spec))
    if turn:
        await world.client.delete(memcacheds.Memcached, f"cache-{turn - 1}", world.namespace)


async def memcached_done(world: World, turn: int) -> None:
    name, size, ours = f"cache-{turn}", turn % 3 + 1, memcacheds.OURS
    while True:
        found = await world.client.list(memcacheds.Memcached, world.namespace)
        deployments = await world.client.list(apps.Deployment, world.namespace, labels=ours)
        pods = sorted(pod.metadata.name for pod in await world.client.list(core.Pod, world.namespace, labels=ours))
        if [one.metadata.name for one in found] == [one.metadata.name for one in deployments] == [name]:
            available = is_condition_true(found[0].status, "Available")
            if available and found[0].status.nodes == pods and len(pods) == size:
                break
        await asyncio.sleep(0.05)
    assert is_controlled_by(deployments[0], found[0])


SYSTEMS = [
    System("foo", foos.operator, foos.Foo, ask_foo, foo_done),
    System("testresource", testresources.operator, testresources.TestResource, ask_testresource, testresource_done),
    System("network", networks.operator, networks.Network, ask_network, network_done),
    System("password", passwords.operator, passwords.Password, ask_password, password_done),
    System("memcached", memcacheds.operator, memcacheds.Memcached, ask_memcached, memcached_done),
]
