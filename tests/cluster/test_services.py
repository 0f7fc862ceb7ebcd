"""Cluster IPs and node ports of Services in the embedded cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kubewright.api import core, meta
from kubewright.client import ApiError, Client, Invalid, MergePatch
from kubewright.cluster import Cluster
from kubewright.cluster.admission import NAMES, Attributes, Plugin


async def make(client: Client, name: str, **spec: object) -> core.ServiceSpec:
    ports = [core.ServicePort(port=80)]
    service = core.Service(metadata=meta.ObjectMeta(name=name), spec=core.ServiceSpec(ports=ports, **spec))  # type: ignore[arg-type]
    made = (await client.create(service)).spec
    assert made is not None
    return made


@pytest.mark.promise("The embedded cluster", "Each Service has its own cluster IP.")
async def test_each_service_has_unique_address_also_after_restart(tmp_path: Path) -> None:
    file = tmp_path / "state"
    async with Cluster(snapshot=file) as cluster, cluster.client(namespace="default") as client:
        first = {(await make(client, f"a{number}")).cluster_ip for number in range(20)}
        wanted = (await make(client, "chosen", cluster_ip="10.96.1.30")).cluster_ip
    async with Cluster(snapshot=file) as cluster, cluster.client(namespace="default") as client:
        second = {(await make(client, f"b{number}")).cluster_ip for number in range(20)}
    assert wanted == "10.96.1.30"
    assert len(first | second | {wanted, "10.96.0.1"}) == 42


async def test_allocates_node_port_and_keeps_it_and_the_address() -> None:
    async with Cluster() as cluster, cluster.client(namespace="default") as client:
        made, other = await make(client, "a", type="NodePort"), await make(client, "b", type="NodePort")
        assert made.ports is not None
        assert other.ports is not None
        port = made.ports[0].node_port
        assert port in range(30000, 32768)
        assert other.ports[0].node_port != port
        changed = await client.patch(core.Service, "a", MergePatch({"spec": {"selector": {"x": "y"}}}))
        assert changed.spec is not None
        assert changed.spec.ports is not None
        assert (changed.spec.ports[0].node_port, changed.spec.cluster_ip) == (port, made.cluster_ip)


def on_all_ports(count: int) -> core.Service:
    ports = [core.ServicePort(name=f"p{number}", port=number + 1) for number in range(count)]
    spec = core.ServiceSpec(type="NodePort", ports=ports, cluster_ip="10.96.0.9")
    return core.Service(metadata=meta.ObjectMeta(name="all"), spec=spec)


@pytest.mark.promise(
    "The embedded cluster",
    "Released addresses and ports of Services are reused; those of a write in progress are reserved.",
)
async def test_reuses_released_ports_and_addresses() -> None:
    """Uses all node ports repeatedly: of Services that are rejected, dry-run, change their type, or are deleted."""
    async with Cluster() as cluster, cluster.client(namespace="default") as client:
        bad = on_all_ports(2768)
        bad.metadata.name = "NOT A NAME"
        with pytest.raises(Invalid):
            await client.create(bad)
        await client.create(on_all_ports(2768), dry_run=True)
        await client.create(on_all_ports(2768))
        with pytest.raises(ApiError, match="failed to allocate a nodePort: range is full"):
            await make(client, "one-more", type="NodePort")
        await client.patch(core.Service, "all", MergePatch({"spec": {"type": "ExternalName", "externalName": "a.b"}}))
        assert (await make(client, "one-more", type="NodePort", cluster_ip="10.96.0.9")).ports
        await client.delete(core.Service, "one-more")
        await client.delete(core.Service, "all")
        await client.create(on_all_ports(2768))


class Slow(Plugin):
    """Lets other clients write between the allocation of an address and its storing."""

    async def validate(self, attributes: Attributes) -> None:
        await asyncio.sleep(0)


@pytest.mark.promise(
    "The embedded cluster",
    "Released addresses and ports of Services are reused; those of a write in progress are reserved.",
)
async def test_concurrent_services_have_different_addresses_and_ports() -> None:
    async with Cluster() as cluster, cluster.client(namespace="default") as client:
        slow = Slow()
        slow.name = next(name for name in NAMES if cluster.state.admission.find(name) is None)
        cluster.state.admission.add(slow)
        made = await asyncio.gather(*(make(client, f"s{number}", type="NodePort") for number in range(20)))
        assert len({spec.cluster_ip for spec in made}) == 20
        assert len({port.node_port for spec in made for port in spec.ports or ()}) == 20
        with pytest.raises(Invalid, match="provided IP is already allocated"):
            await make(client, "same", cluster_ip=made[0].cluster_ip)
