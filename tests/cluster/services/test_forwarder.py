"""Services on loopback: connections to cluster IPs and node ports reach ready pods, on both clusters."""

from __future__ import annotations

import asyncio
import errno
import random
import socket
import ssl
from collections import Counter
from contextlib import AsyncExitStack
from typing import Any

import pytest

from kubewright.api import core, discovery
from kubewright.api.meta import ObjectMeta
from kubewright.client import Client, Invalid, MergePatch, load_config
from kubewright.cluster import Cluster
from kubewright.cluster.services import PORTS_ANNOTATION, LoopbackAddresses, PodPorts, ServiceForwarder
from tests.cluster.services.conftest import ask, create_service, run_pod, serving, until_targets
from tests.patience import until


def http(port: int, **fields: object) -> core.ServicePort:
    return core.ServicePort(port=80, target_port=port, **fields)  # type: ignore[arg-type]


def free_node_port() -> int:
    """Returns a node port that no other cluster on this machine uses."""
    while True:
        port = random.randrange(30000, 32768)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue


@pytest.mark.promise("Streams of pods", "Cluster IPs and node ports forward connections to ready pods.")
async def test_cluster_ip_leads_to_ready_pods_in_turn(
    shop: Client, forwarder: ServiceForwarder, addresses: LoopbackAddresses
) -> None:
    one, other, idle = (addresses.allocate() for _ in range(3))
    async with serving(one, "one") as port, serving(other, "other", port):
        web = await create_service(shop, "web", http(port))
        await run_pod(shop, "one", one)
        await run_pod(shop, "other", other)
        await run_pod(shop, "idle", idle, ready=False)
        await until_targets(forwarder, web, 2)
        assert web.spec.cluster_ip is not None
        found = Counter([await ask((web.spec.cluster_ip, 80), b"hello") for _ in range(6)])
        assert found == {"one:hello": 3, "other:hello": 3}


async def test_node_port_listens_on_loopback(
    shop: Client, forwarder: ServiceForwarder, addresses: LoopbackAddresses
) -> None:
    address = addresses.allocate()
    async with serving(address, "web") as port:
        node_port = free_node_port()
        web = await create_service(shop, "web", http(port, node_port=node_port), type="NodePort")
        await run_pod(shop, "web", address)
        await until_targets(forwarder, web, 1)
        assert await until(lambda: ask(("127.0.0.1", node_port), b"hello"), "the node port") == "web:hello"


async def test_ports_are_named_by_each_pod(
    shop: Client, forwarder: ServiceForwarder, addresses: LoopbackAddresses
) -> None:
    one, other = addresses.allocate(), addresses.allocate()
    async with serving(one, "old") as old, serving(other, "new") as new, serving(other, "metrics") as metrics:
        ports = [
            core.ServicePort(name="http", port=80, target_port="web"),
            core.ServicePort(name="metrics", port=9090, target_port=metrics),
        ]
        web = await create_service(shop, "web", *ports)
        await run_pod(shop, "one", one, core.ContainerPort(name="web", container_port=old))
        await run_pod(shop, "other", other, core.ContainerPort(name="web", container_port=new))
        await until_targets(forwarder, web, 2)
        await until_targets(forwarder, web, 2, 9090)
        address = web.spec.cluster_ip or ""
        assert {await ask((address, 80)) for _ in range(2)} == {"old:", "new:"}
        # The first pod has nothing on that port: the connection goes to the next one.
        assert {await ask((address, 9090)) for _ in range(4)} == {"metrics:"}


async def test_endpoints_come_and_go_while_connections_run(
    shop: Client, forwarder: ServiceForwarder, addresses: LoopbackAddresses
) -> None:
    one, other = addresses.allocate(), addresses.allocate()
    async with serving(one, "one") as port, serving(other, "other", port):
        web = await create_service(shop, "web", http(port))
        pod = await run_pod(shop, "one", one)
        await until_targets(forwarder, web, 1)
        address = (web.spec.cluster_ip or "", 80)
        reader, writer = await asyncio.open_connection(*address)
        assert await reader.readexactly(4) == b"one:"
        pod.status.conditions = [core.PodCondition(type="Ready", status="False")]
        await shop.update_status(pod)
        await until_targets(forwarder, web, 0)
        assert await ask(address) == ""
        await run_pod(shop, "other", other)
        await until_targets(forwarder, web, 1)
        assert await ask(address) == "other:"
        writer.write(b"still here")
        writer.write_eof()
        assert await reader.read() == b"still here"
        writer.close()


async def test_pods_that_are_being_deleted_serve_until_there_are_others(
    shop: Client, forwarder: ServiceForwarder, addresses: LoopbackAddresses
) -> None:
    one, other = addresses.allocate(), addresses.allocate()
    async with serving(one, "one") as port, serving(other, "other", port):
        web = await create_service(shop, "web", http(port))
        await run_pod(shop, "one", one)
        await until_targets(forwarder, web, 1)
        await shop.delete(core.Pod, "one", grace_period_seconds=100)
        assert await ask((web.spec.cluster_ip or "", 80)) == "one:"
        await run_pod(shop, "other", other)
        key = (web.metadata.namespace or "", "web", 80)
        await until(lambda: [host for host, _ in forwarder.targets(*key)] == [other])
        await shop.delete(core.Pod, "one", grace_period_seconds=0)


async def test_client_ip_affinity_keeps_the_pod(
    shop: Client, forwarder: ServiceForwarder, addresses: LoopbackAddresses
) -> None:
    one, other = addresses.allocate(), addresses.allocate()
    async with serving(one, "one") as port, serving(other, "other", port):
        web = await create_service(shop, "web", http(port), session_affinity="ClientIP")
        await run_pod(shop, "one", one)
        await run_pod(shop, "other", other)
        await until_targets(forwarder, web, 2)
        assert len({await ask((web.spec.cluster_ip or "", 80)) for _ in range(4)}) == 1


async def test_deleted_service_is_not_reachable(
    shop: Client, forwarder: ServiceForwarder, addresses: LoopbackAddresses
) -> None:
    address = addresses.allocate()
    async with serving(address, "web") as port:
        web = await create_service(shop, "web", http(port))
        await run_pod(shop, "web", address)
        await until_targets(forwarder, web, 1)
        await shop.delete(core.Service, "web")

        async def refused() -> bool:
            try:
                _, writer = await asyncio.open_connection(web.spec.cluster_ip, 80)
            except ConnectionRefusedError:
                return True
            except ConnectionResetError:  # it arrived while the port was being closed
                return False
            writer.close()
            return False

        await until(refused, "the port to be closed")
        assert forwarder.address(web.metadata.namespace or "", "web", 80) is None


async def test_changed_port_moves_the_listener(
    shop: Client, forwarder: ServiceForwarder, addresses: LoopbackAddresses
) -> None:
    address = addresses.allocate()
    async with serving(address, "web") as port:
        web = await create_service(shop, "web", http(port))
        await run_pod(shop, "web", address)
        await until_targets(forwarder, web, 1)
        await shop.patch(core.Service, "web", MergePatch({"spec": {"ports": [{"port": 81, "targetPort": port}]}}))
        await until_targets(forwarder, web, 1, 81)
        assert await ask((web.spec.cluster_ip or "", 81)) == "web:"


async def test_api_server_is_reached_by_its_service(loopback: Cluster, forwarder: ServiceForwarder) -> None:
    """With TLS, so the certificate names the address."""
    kubernetes = await loopback.client().get(core.Service, "kubernetes", "default")
    await until_targets(forwarder, kubernetes, 1, 443)
    config = load_config(kubeconfig=loopback.kubeconfig())
    assert config.tls.ca_data is not None
    context = ssl.create_default_context(cadata=config.tls.ca_data.decode())
    reader, writer = await asyncio.open_connection(kubernetes.spec.cluster_ip, 443, ssl=context)
    writer.write(b"GET /version HTTP/1.1\r\nHost: kubernetes\r\nConnection: close\r\n\r\n")
    assert (await reader.read()).startswith(b"HTTP/1.1 200 OK\r\n")
    writer.close()


class TestEndpoints:
    """Loopback addresses in endpoints, which only a cluster whose pods are programs accepts."""

    def endpoints(self, port: int, address: str) -> core.Endpoints:
        subset = core.EndpointSubset(addresses=[core.EndpointAddress(ip=address)], ports=[core.EndpointPort(port=port)])
        return core.Endpoints(metadata=ObjectMeta(name="web"), subsets=[subset])

    def piece(self, port: int, *addresses: str, ready: bool = True) -> discovery.EndpointSlice:
        conditions = discovery.EndpointConditions(ready=ready)
        return discovery.EndpointSlice(
            metadata=ObjectMeta(name="web-1", labels={"kubernetes.io/service-name": "web"}),
            address_type="IPv4",
            endpoints=[discovery.Endpoint(addresses=[each], conditions=conditions) for each in addresses],
            ports=[discovery.EndpointPort(name="", port=port)],
        )

    @pytest.mark.parametrize(
        ("address", "problem"),
        [
            ("127.0.0.5", r"may not be in the loopback range \(127.0.0.0/8, ::1/128\)"),
            ("0.0.0.0", r"may not be unspecified \(0.0.0.0\)"),
            ("169.254.1.1", r"may not be in the link-local range \(169.254.0.0/16, fe80::/10\)"),
            ("224.0.0.5", r"may not be in the link-local multicast range \(224.0.0.0/24, ff02::/10\)"),
            ("ten", r"must be a valid IP address, \(e.g. 10.9.8.7 or 2001:db8::ffff\)"),
            ("fd00::1", "must be an IPv4 address"),
        ],
    )
    @pytest.mark.clusters
    async def test_other_clusters_reject_them(self, client: Client, address: str, problem: str) -> None:
        with pytest.raises(Invalid, match=problem):
            await client.create(self.piece(80, address))
        if address != "fd00::1":
            with pytest.raises(Invalid, match=problem):
                await client.create(self.endpoints(80, address))

    async def test_service_without_a_selector_leads_to_its_endpoint_slices(self, addresses: LoopbackAddresses) -> None:
        one, other = addresses.allocate(), addresses.allocate()
        async with Cluster(service_range="loopback") as cluster, serving(one, "one") as port:
            client = cluster.client()
            web = await create_service(client, "web", http(port), selector=None)
            await client.create(self.endpoints(port, one))
            await client.create(self.piece(port, one, one))
            await until_targets(cluster.forwarder, web, 1)
            assert await ask((web.spec.cluster_ip or "", 80)) == "one:"
            changed = await client.get(discovery.EndpointSlice, "web-1")
            changed.endpoints = self.piece(port, other, ready=False).endpoints
            await client.update(changed)
            await until_targets(cluster.forwarder, web, 0)


class TestPlaces:
    """Addresses and ports that are not available, on the embedded cluster."""

    async def test_port_in_use_is_replaced_and_reported_until_it_is_free(self, addresses: LoopbackAddresses) -> None:
        address = addresses.allocate()
        async with Cluster(service_range="loopback") as cluster, serving(address, "web") as port:
            client = cluster.client()
            taken = str(cluster.state.service_range[900])
            with socket.create_server((taken, 80)):
                web = await create_service(client, "web", http(port), cluster_ip=taken)
                await run_pod(client, "web", address)
                await until_targets(cluster.forwarder, web, 1)
                found = cluster.forwarder.address("default", "web", 80)
                assert found is not None
                assert (found[0], found[1] == 80) == (taken, False)
                assert await ask(found) == "web:"
                assert web.spec.ports is not None
                assert cluster.forwarder.address_of(web, web.spec.ports[0]) == found
                variables = cluster.forwarder.environment(await client.get(core.Pod, "web"))
                assert (variables["WEB_SERVICE_HOST"], variables["WEB_SERVICE_PORT"]) == (found[0], str(found[1]))

                async def reported() -> list[core.Event]:
                    return [each for each in await client.list(core.Event) if each.reason == "ListenFailed"]

                (event,) = await until(reported, "the event")
                assert (event.message or "").startswith(f"cannot listen at {taken}:80: ")
                assert event.involved_object.name == "web"
            await until(lambda: cluster.forwarder.address("default", "web", 80) == (taken, 80), "another attempt")
            assert await ask((taken, 80)) == "web:"

    async def test_port_that_needs_privileges_is_replaced(
        self, addresses: LoopbackAddresses, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        create_server = socket.create_server

        def without_privileges(address: tuple[str, int], **options: Any) -> socket.socket:
            if 0 < address[1] < 1024:
                raise PermissionError(errno.EACCES, "Permission denied")
            return create_server(address, **options)

        monkeypatch.setattr(socket, "create_server", without_privileges)
        address = addresses.allocate()
        async with Cluster(service_range="loopback") as cluster, serving(address, "web") as port:
            client = cluster.client()
            web = await create_service(client, "web", http(port))
            await run_pod(client, "web", address)
            await until_targets(cluster.forwarder, web, 1)
            found = cluster.forwarder.address("default", "web", 80)
            assert found is not None
            assert (found[0], await ask(found)) == (web.spec.cluster_ip, "web:")

            async def messages() -> list[str]:
                events = [each for each in await client.list(core.Event) if each.reason == "ListenFailed"]
                return [each.message or "" for each in events if each.involved_object.name == "web"]

            (message,) = await until(messages, "the event")
            assert "sysctl net.ipv4.ip_unprivileged_port_start=0" in message

    async def test_cluster_ips_outside_of_loopback_are_ports_of_loopback(self, addresses: LoopbackAddresses) -> None:
        address = addresses.allocate()
        async with Cluster() as cluster, serving(address, "web") as port:
            client = cluster.client()
            web = await create_service(client, "web", http(port))
            await run_pod(client, "web", address)
            async with ServiceForwarder(client) as forwarder:
                await until_targets(forwarder, web, 1)
                found = forwarder.address("default", "web", 80)
                assert found is not None
                assert found[0] == "127.0.0.1"
                assert await ask(found) == "web:"

    async def test_pods_that_share_an_address_have_their_own_ports(self) -> None:
        """As on macOS, which has no loopback address but 127.0.0.1."""
        ports = PodPorts()
        async with Cluster(service_range="loopback") as cluster, AsyncExitStack() as stack:
            client = cluster.client()
            web = await create_service(client, "web", http(8080))
            for name in ("one", "other"):
                port = await stack.enter_async_context(serving("127.0.0.1", name))
                await run_pod(client, name, "127.0.0.1", core.ContainerPort(container_port=8080))
                annotation = {PORTS_ANNOTATION: ports.annotation({8080: port})}
                await client.patch(core.Pod, name, MergePatch({"metadata": {"annotations": annotation}}))
            key = ("default", "web", 80)

            def numbers() -> set[int]:
                return {port for _, port in cluster.forwarder.targets(*key)}

            await until(lambda: len(numbers()) == 2 and 8080 not in numbers(), "both annotations")
            assert {await ask((web.spec.cluster_ip or "", 80)) for _ in range(2)} == {"one:", "other:"}

    async def test_simulated_pods_get_no_connections(self) -> None:
        async with Cluster(service_range="loopback") as cluster:
            client = cluster.client()
            web = await create_service(client, "web", http(80))
            await run_pod(client, "web", "10.244.0.1")
            await cluster.settled()
            await until_targets(cluster.forwarder, web, 0)
            assert await ask((web.spec.cluster_ip or "", 80)) == ""

    async def test_connections_are_limited(self, addresses: LoopbackAddresses) -> None:
        address = addresses.allocate()
        async with Cluster() as cluster, serving(address, "web") as port:
            client = cluster.client()
            web = await create_service(client, "web", http(port))
            await run_pod(client, "web", address)
            async with ServiceForwarder(client, max_connections=2) as forwarder:
                await until_targets(forwarder, web, 1)
                place = forwarder.address("default", "web", 80)
                assert place is not None
                open_ones = [await asyncio.open_connection(*place) for _ in range(2)]
                for reader, _ in open_ones:
                    assert await reader.readexactly(4) == b"web:"
                assert await ask(place) == ""
                for _, writer in open_ones:
                    writer.close()
                await until(lambda: ask(place), "a free connection")

    async def test_large_transfers_pass_in_both_directions(self, addresses: LoopbackAddresses) -> None:
        address, size = addresses.allocate(), 8 * 2**20
        async with Cluster(service_range="loopback") as cluster, serving(address, "web") as port:
            client = cluster.client()
            web = await create_service(client, "web", http(port))
            await run_pod(client, "web", address)
            await until_targets(cluster.forwarder, web, 1)
            assert len(await ask((web.spec.cluster_ip or "", 80), b"x" * size)) == size + len("web:")


class TestRanges:
    async def test_clusters_have_different_ranges(self) -> None:
        async with Cluster(service_range="loopback") as one, Cluster(service_range="loopback") as other:
            assert one.state.service_range != other.state.service_range
            found = await one.client().get(core.Service, "kubernetes")
            assert found.spec.cluster_ip == str(one.state.service_range[1])
            with pytest.raises(RuntimeError, match=r"the range of cluster IPs .* is not available: .*in use"):
                await Cluster(service_range=str(one.state.service_range)).start()

    async def test_snapshot_keeps_its_range(self, tmp_path: object) -> None:
        path = f"{tmp_path}/snapshot"
        async with Cluster(service_range="loopback", snapshot=path) as cluster:
            web = await create_service(cluster.client(), "web", http(80))
            network = cluster.state.service_range
        async with Cluster(service_range="loopback", snapshot=path) as cluster:
            assert cluster.state.service_range == network
            assert cluster.forwarder.address("default", "web", 80) == (web.spec.cluster_ip, 80)

    async def test_rejects_an_invalid_range(self) -> None:
        with pytest.raises(RuntimeError, match=r'service_range must be "loopback" or a range such as 127\.32'):
            await Cluster(service_range="127.0.0.300/8").start()

    async def test_forwarder_needs_loopback(self) -> None:
        async with Cluster() as cluster:
            with pytest.raises(RuntimeError, match="cluster IPs are not on loopback"):
                _ = cluster.forwarder
