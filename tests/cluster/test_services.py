"""Addresses and node ports of services in the embedded cluster."""

from __future__ import annotations

from pathlib import Path

from kubewright.api import core, meta
from kubewright.client import Client, MergePatch
from kubewright.cluster import Cluster


async def make(client: Client, name: str, **spec: object) -> core.ServiceSpec:
    ports = [core.ServicePort(port=80)]
    service = core.Service(metadata=meta.ObjectMeta(name=name), spec=core.ServiceSpec(ports=ports, **spec))  # type: ignore[arg-type]
    made = (await client.create(service)).spec
    assert made is not None
    return made


async def test_each_service_has_an_address_of_its_own_also_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "state"
    async with Cluster(snapshot=file) as cluster, cluster.client(namespace="default") as client:
        first = {(await make(client, f"a{number}")).cluster_ip for number in range(20)}
        wanted = (await make(client, "chosen", cluster_ip="10.96.1.30")).cluster_ip
    async with Cluster(snapshot=file) as cluster, cluster.client(namespace="default") as client:
        second = {(await make(client, f"b{number}")).cluster_ip for number in range(20)}
    assert wanted == "10.96.1.30"
    assert len(first | second | {wanted, "10.96.0.1"}) == 42


async def test_a_node_port_is_given_and_kept_and_its_address_stays() -> None:
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
