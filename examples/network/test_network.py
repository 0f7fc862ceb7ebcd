"""Tests of Network, with a Neutron server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from network import Network, NetworkSpec, operator
from neutron import Neutron, NeutronError
from neutron_server import NeutronServer

from kubewright.api import apiextensions, core, find_condition, is_condition_true, meta
from kubewright.client import Client, Invalid, MergePatch, NotFound
from kubewright.clock import VirtualClock
from kubewright.crd import install

pytestmark = pytest.mark.clusters

TOKEN = "a-secret-token"


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[NeutronServer]:
    """A Neutron server that the operator uses."""
    async with NeutronServer(token=TOKEN) as started:
        monkeypatch.setenv("NEUTRON_URL", started.url)
        monkeypatch.setenv("NEUTRON_TOKEN", TOKEN)
        yield started


def make(namespace: str, cidr: str = "192.168.0.0/16", gateway: str = "192.168.0.1") -> Network:
    metadata = meta.ObjectMeta(name="one", namespace=namespace)
    return Network(metadata=metadata, spec=NetworkSpec(cidr=cidr, gateway=gateway))


async def until(check: Callable[[], bool]) -> None:
    """Waits until the condition is true."""
    while True:
        if check():
            return
        await asyncio.sleep(0.02)


async def synced(client: Client, namespace: str) -> Network:
    return await client.wait_for(Network, "one", lambda found: is_condition_true(found.status, "Synced"), namespace)


async def event(client: Client, namespace: str, reason: str) -> core.Event:
    """Returns the first event with that reason."""
    async for found in client.watch(core.Event, namespace):
        if found.object.reason == reason:
            return found.object
    raise AssertionError("unreachable")


def external(server: NeutronServer) -> list[tuple[str, list[str], list[tuple[str, str]]]]:
    """Returns name, tags and subnets of each network in Neutron."""
    return [
        (
            network["name"],
            network["tags"],
            [(sub["cidr"], sub["gateway_ip"]) for sub in server.subnets.values() if sub["network_id"] == network["id"]],
        )
        for network in server.networks.values()
    ]


async def test_creates_changes_and_deletes_in_neutron(client: Client, namespace: str, server: NeutronServer) -> None:
    async with operator.running(client, namespaces=[namespace]):
        made = await client.create(make(namespace))
        await synced(client, namespace)
        found = await event(client, namespace, "Synced")
        assert (found.type, found.message) == ("Normal", "Network synced successfully")
        assert found.reporting_component == "network-controller"
        assert external(server) == [("one", [made.metadata.uid], [("192.168.0.0/16", "192.168.0.1")])]
        [before] = server.subnets
        await client.patch(Network, "one", MergePatch({"spec": {"gateway": "192.168.0.2"}}), namespace)
        await until(lambda: external(server)[0][2] == [("192.168.0.0/16", "192.168.0.2")])
        assert [*server.subnets] == [before], "a gateway can be changed"
        spec = {"cidr": "10.0.0.0/8", "gateway": "10.0.0.1"}
        await client.patch(Network, "one", MergePatch({"spec": spec}), namespace)
        await until(lambda: external(server)[0][2] == [("10.0.0.0/8", "10.0.0.1")])
        assert [*server.subnets] != [before], "a CIDR cannot: the subnet was replaced"
        await client.delete(Network, "one", namespace)
        await until(lambda: external(server) == [])
        assert server.subnets == {}


async def test_cleans_up_after_a_deletion_while_down(client: Client, namespace: str, server: NeutronServer) -> None:
    async with operator.running(client, namespaces=[namespace]):
        await client.create(make(namespace))
        await synced(client, namespace)
    kept = await client.delete(Network, "one", namespace)
    assert kept is not None
    assert kept.metadata.finalizers == ["samplecrd.k8s.io/network-controller"]
    assert len(server.networks) == 1
    async with operator.running(client, namespaces=[namespace]):
        await until(lambda: not server.networks)
        while True:
            try:
                await client.get(Network, "one", namespace)
            except NotFound:
                break
            await asyncio.sleep(0.02)


async def test_resync_repairs_drift_in_neutron(client: Client, namespace: str, server: NeutronServer) -> None:
    clock = VirtualClock()
    async with operator.running(client, namespaces=[namespace], clock=clock) as running:
        made = await client.create(make(namespace))
        wanted = [("one", [made.metadata.uid], [("192.168.0.0/16", "192.168.0.1")])]
        await synced(client, namespace)
        for disturb in (rename, lose_the_tag, add_a_subnet, change_the_gateway, lose_the_network, make_it_twice):
            await until(lambda: running.controller(Network).idle)
            disturb(server)
            assert external(server) != wanted
            await clock.advance(30)
            await until(lambda: external(server) == wanted)


def rename(server: NeutronServer) -> None:
    next(iter(server.networks.values()))["name"] = "renamed"


def lose_the_tag(server: NeutronServer) -> None:
    next(iter(server.networks.values()))["tags"] = []


def add_a_subnet(server: NeutronServer) -> None:
    subnet = {"id": "zzz", "network_id": next(iter(server.networks)), "cidr": "10.1.0.0/16", "gateway_ip": "10.1.0.1"}
    server.subnets["zzz"] = subnet


def change_the_gateway(server: NeutronServer) -> None:
    next(iter(server.subnets.values()))["gateway_ip"] = "192.168.9.9"


def lose_the_network(server: NeutronServer) -> None:
    server.networks.clear()
    server.subnets.clear()


def make_it_twice(server: NeutronServer) -> None:
    first = next(iter(server.networks.values()))
    server.networks["zzz"] = {**first, "id": "zzz"}


async def test_recovers_from_an_outage(
    client: Client, namespace: str, server: NeutronServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with operator.running(client, namespaces=[namespace]) as running:
        server.broken = True
        made = await client.create(make(namespace))
        failed = await client.wait_for(
            Network, "one", lambda found: find_condition(found.status, "Synced") is not None, namespace
        )
        condition = find_condition(failed.status, "Synced")
        assert condition is not None
        assert (condition.status, condition.reason) == ("False", "NeutronFailed")
        assert condition.message == "Neutron is not there for GET /v2.0/networks: status 503"
        found = await event(client, namespace, "SyncFailed")
        assert (found.type, found.message) == ("Warning", condition.message)
        await until(lambda: running.controller(Network).stats.reconciles["error"] >= 2)
        # Changes and deletions during the outage are carried out after it.
        await client.patch(Network, "one", MergePatch({"spec": {"gateway": "192.168.0.9"}}), namespace)
        second = make(namespace, "10.0.0.0/8", "10.0.0.1")
        second.metadata.name = "two"
        await client.create(second)
        server.broken = False
        await synced(client, namespace)
        wanted = {"one": [("192.168.0.0/16", "192.168.0.9")], "two": [("10.0.0.0/8", "10.0.0.1")]}
        await until(lambda: {name: subnets for name, _, subnets in external(server)} == wanted)
        server.broken = True
        await client.delete(Network, "one", namespace)
        await client.wait_for(
            Network,
            "one",
            lambda found: (
                found.metadata.deletion_timestamp is not None and not is_condition_true(found.status, "Synced")
            ),
            namespace,
        )
        server.broken = False
        await until(lambda: [made.metadata.uid] not in [tags for _, tags, _ in external(server)])
    assert TOKEN not in caplog.text


@pytest.mark.parametrize(
    ("cidr", "gateway", "field"),
    [
        ("192.168.0.0", "192.168.0.1", "spec.cidr"),
        ("a net", "192.168.0.1", "spec.cidr"),
        ("192.168.0.0/16", "nowhere", "spec.gateway"),
        ("192.168.0.0/16", "10.0.0.1", "spec.gateway"),
        (None, "10.0.0.1", "spec.cidr"),
        ("10.0.0.0/8", None, "spec.gateway"),
    ],
)
async def test_rejects_invalid_cidr_and_gateway_by_field(
    client: Client, namespace: str, cidr: str | None, gateway: str | None, field: str
) -> None:
    await install(client, Network)
    spec = {name: value for name, value in (("cidr", cidr), ("gateway", gateway)) if value is not None}
    body = {"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network", "metadata": {"name": "bad"}, "spec": spec}
    with pytest.raises(Invalid) as error:
        await client.request("POST", f"/apis/samplecrd.k8s.io/v1/namespaces/{namespace}/networks", body=body)
    assert field in {cause.field for cause in error.value.causes}


async def test_crd_marks_its_protected_group_as_unapproved(client: Client) -> None:
    await install(client, Network)
    crd = await client.get(apiextensions.CustomResourceDefinition, "networks.samplecrd.k8s.io")
    assert crd.metadata.annotations["api-approved.kubernetes.io"] == "unapproved, sample"


async def test_has_two_workers_and_a_resync_of_thirty_seconds() -> None:
    [registration] = operator.registrations()
    assert (registration.concurrency, registration.resync) == (2, 30)


# The client


@pytest.mark.clusters("embedded")
async def test_client_retries_reads_but_not_creations(server: NeutronServer) -> None:
    server.broken = True
    async with Neutron(server.url, TOKEN, tries=3) as neutron:
        with pytest.raises(NeutronError, match="status 503"):
            await neutron.networks("x")
        assert server.requests == ["GET /v2.0/networks"] * 3
        server.requests.clear()
        with pytest.raises(NeutronError):
            await neutron.create_network("x", "x")
        assert server.requests == ["POST /v2.0/networks"]


@pytest.mark.clusters("embedded")
async def test_client_has_timeouts_and_reports_rejections(server: NeutronServer) -> None:
    server.open.clear()
    async with Neutron(server.url, TOKEN, tries=1, timeout=0.05) as neutron:
        with pytest.raises(NeutronError, match="no answer in time"):
            await neutron.networks("x")
    server.open.set()
    async with Neutron(server.url, "another", tries=1) as neutron:
        with pytest.raises(NeutronError, match="401 Unauthorized") as error:
            await neutron.networks("x")
    assert "another" not in str(error.value)
    async with Neutron("http://127.0.0.1:1", TOKEN, tries=1) as neutron:
        with pytest.raises(NeutronError, match="ClientConnectorError"):
            await neutron.networks("x")
