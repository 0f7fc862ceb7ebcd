"""Endpoints of Services in the embedded cluster, in virtual time."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest

from kubewright.api import apps, core, discovery, meta
from kubewright.cluster.nodes import PodPlan
from tests.cluster.workloads.conftest import LABELS, World, a_deployment, a_stateful_set, template


def a_service(**spec: Any) -> core.Service:
    spec.setdefault("selector", dict(LABELS))
    spec.setdefault("ports", [core.ServicePort(port=80, target_port=8080)])
    return core.Service(metadata=meta.ObjectMeta(name="web"), spec=core.ServiceSpec(**spec))


async def addresses(world: World) -> tuple[list[str], list[str]]:
    """Returns the ready addresses and the others."""
    (found,) = [each for each in await world.all(core.Endpoints) if each.metadata.name == "web"]
    ready = [each.ip for subset in found.subsets or () for each in subset.addresses or ()]
    others = [each.ip for subset in found.subsets or () for each in subset.not_ready_addresses or ()]
    return ready, others


async def slices(world: World) -> list[discovery.EndpointSlice]:
    found = await world.all(discovery.EndpointSlice)
    return [each for each in found if each.metadata.labels.get("kubernetes.io/service-name") == "web"]


@pytest.mark.promise("The embedded cluster", "Claims get volumes, and Services get the addresses of ready pods.")
async def test_endpoints_follow_pod_readiness(world: World) -> None:
    world.plans.default = PodPlan(ready_delay=10)
    await world.client.create(a_service())
    await world.client.create(a_deployment(replicas=2))
    await world.passes(5)
    # the server sorts them, too
    ips = sorted([pod.status.pod_ip or "" for pod in await world.all(core.Pod)], key=ip_address)
    assert await addresses(world) == ([], ips)
    (found,) = await slices(world)
    assert [each.conditions.ready for each in found.endpoints or () if each.conditions] == [False, False]
    await world.passes(10)
    assert await addresses(world) == (ips, [])
    (found,) = await slices(world)
    assert sorted([ip for each in found.endpoints or () for ip in each.addresses], key=ip_address) == ips
    assert [(port.name, port.port, port.protocol) for port in found.ports or ()] == [("", 8080, "TCP")]


async def test_removes_addresses_and_endpoints_on_deletion(world: World) -> None:
    world.plans.default = PodPlan(stop_delay=10)
    await world.client.create(a_service())
    await world.client.create(a_deployment(replicas=1))
    await world.passes(3)

    def stop(deployment: apps.Deployment) -> None:
        deployment.spec.replicas = 0

    await world.change(apps.Deployment, "web", stop)
    await world.passes(3)
    assert await addresses(world) == ([], [])
    (found,) = await slices(world)
    (leaving,) = found.endpoints or []
    assert leaving.conditions is not None
    assert (leaving.conditions.ready, leaving.conditions.serving, leaving.conditions.terminating) == (False, True, True)
    await world.passes(10)
    (found,) = await slices(world)
    assert not found.endpoints
    await world.client.delete(core.Service, "web")
    await world.passes(3)
    assert await slices(world) == []
    assert "web" not in await world.names(core.Endpoints)


async def test_headless_service_has_host_names(world: World) -> None:
    await world.client.create(a_service(cluster_ip="None"))
    await world.client.create(a_stateful_set(replicas=2))
    await world.passes(5)
    (found,) = await slices(world)
    assert sorted(each.hostname or "" for each in found.endpoints or ()) == ["web-0", "web-1"]
    assert found.metadata.labels["service.kubernetes.io/headless"] == ""


async def test_publishes_not_ready_addresses_on_request(world: World) -> None:
    world.plans.default = PodPlan(becomes_ready=False)
    await world.client.create(a_service(publish_not_ready_addresses=True))
    await world.client.create(a_deployment(replicas=1))
    await world.passes(3)
    ready, others = await addresses(world)
    assert (len(ready), others) == (1, [])


async def test_ignores_service_without_selector(world: World) -> None:
    await world.client.create(a_service(selector=None))
    await world.passes(3)
    assert await slices(world) == []


async def test_splits_many_pods_into_slices(world: World) -> None:
    for number in range(101):
        metadata = meta.ObjectMeta(name=f"web-{number}", labels=dict(LABELS))
        await world.client.create(core.Pod(metadata=metadata, spec=template().spec))
    await world.passes(3)
    await world.client.create(a_service())
    await world.passes(3)
    counts = [len(found.endpoints or ()) for found in await slices(world)]
    assert sorted(counts) == [1, 100]
