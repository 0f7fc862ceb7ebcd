"""Loopback addresses and ports of pods."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import subprocess
import sys

import pytest

from kubewright.api import core
from kubewright.api.meta import ObjectMeta
from kubewright.cluster.services import (
    PORTS_ANNOTATION,
    LoopbackAddresses,
    LoopbackBlock,
    NoLoopback,
    PodPorts,
    pod_target,
    port_conflicts,
    wildcard_ports,
)
from tests.ports import unused_port


def only_one_address(address: str, port: int) -> socket.socket:
    """The loopback interface of macOS, which has no address but 127.0.0.1."""
    raise OSError(errno.EADDRNOTAVAIL, "Can't assign requested address")


def pod(name: str, *ports: int, address: str | None = None) -> core.Pod:
    made = [core.ContainerPort(container_port=port) for port in ports]
    spec = core.PodSpec(containers=[core.Container(name="app", image="app", ports=made)])
    status = core.PodStatus(pod_ip=address)
    return core.Pod(metadata=ObjectMeta(name=name, uid=f"uid-{name}"), spec=spec, status=status)


class TestBlocks:
    def test_two_clusters_have_different_networks(self) -> None:
        blocks = [LoopbackBlock.for_services() for _ in range(8)]
        try:
            networks = {block.network for block in blocks}
            assert len(networks) == 8
            assert all(network.is_loopback for network in networks)
            with pytest.raises(OSError, match="in use") as caught:
                LoopbackBlock.for_services(str(blocks[0].network))
            assert caught.value.errno == errno.EADDRINUSE
        finally:
            for block in blocks:
                block.close()
        again = LoopbackBlock.for_services(str(blocks[0].network))
        again.close()

    def test_reports_a_machine_without_loopback_addresses(self) -> None:
        with pytest.raises(NoLoopback, match="cannot be bound on this machine"):
            LoopbackBlock.for_services(bind=only_one_address)

    def test_reports_that_all_networks_are_claimed(self) -> None:
        def taken(address: str, port: int) -> socket.socket:
            raise OSError(errno.EADDRINUSE, "Address already in use")

        with pytest.raises(OSError, match="does another program use UDP port"):
            LoopbackBlock.for_pods(bind=taken)


class TestAddresses:
    def test_each_pod_has_its_own(self) -> None:
        one, other = LoopbackAddresses(), LoopbackAddresses()
        try:
            found = [addresses.allocate() for addresses in (one, other) for _ in range(50)]
            assert len(set(found)) == 100
            assert all(ipaddress.IPv4Address(address).is_loopback for address in found)
            with socket.create_server((found[0], 0)):
                pass  # it can be bound
        finally:
            one.close()
            other.close()

    def test_released_addresses_are_used_again_last(self) -> None:
        addresses = LoopbackAddresses()
        try:
            first = addresses.allocate()
            addresses.release(first)
            found = [addresses.allocate() for _ in range(1021)]
            assert found[-1] == first
            with pytest.raises(RuntimeError, match="all 1021 pod addresses"):
                addresses.allocate()
        finally:
            addresses.close()

    def test_pods_keep_addresses_of_their_own_network_only(self) -> None:
        one, other = LoopbackAddresses(), LoopbackAddresses()
        try:
            mine, foreign = one.allocate(), other.allocate()
            assert [one.keep(address) for address in (mine, foreign, "10.0.0.1", "fd00::1")] == [True, *[False] * 3]
            one.release(mine)
            assert one.keep(mine)
            assert mine not in {one.allocate() for _ in range(1020)}
        finally:
            one.close()
            other.close()

    def test_pods_share_the_only_address(self) -> None:
        addresses = LoopbackAddresses(bind=only_one_address)
        assert addresses.shared
        assert [addresses.allocate(), addresses.allocate()] == ["127.0.0.1", "127.0.0.1"]
        assert addresses.keep("127.0.0.1")
        assert not addresses.keep("127.128.0.2")
        addresses.release("127.0.0.1")
        addresses.close()


class TestSharedPorts:
    def test_replicas_get_different_ports(self) -> None:
        free, ports = unused_port(), PodPorts()
        one, other = ports.assign(pod("one", free)), ports.assign(pod("other", free))
        assert one == {free: free}
        assert other[free] != free
        assert ports.assign(pod("other", free)) == other
        ports.release(pod("one", free))
        assert ports.assign(pod("third", free)) == {free: free}

    def test_port_of_another_program_is_avoided(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            taken = server.getsockname()[1]
            assert PodPorts().assign(pod("one", taken))[taken] != taken

    def test_annotation_says_where_a_port_is(self) -> None:
        web = pod("web", 8080, address="127.0.0.1")
        web.metadata.annotations = {PORTS_ANNOTATION: PodPorts.annotation({8080: 40000, 8443: 40001})}
        assert pod_target(web, 8080) == ("127.0.0.1", 40000)
        assert pod_target(web, 8443) == ("127.0.0.1", 40001)
        assert pod_target(web, 9000) == ("127.0.0.1", 9000)
        assert PodPorts.environment({8080: 40000}) == {"KUBEWRIGHT_PORT_8080": "40000"}

    @pytest.mark.parametrize("text", ["", "8080", "8080=", "=1", "a=b", "8080=70000", "8080=-1", "8080=1²", ",,,"])
    def test_invalid_annotations_change_nothing(self, text: str) -> None:
        web = pod("web", address="127.0.0.1")
        web.metadata.annotations = {PORTS_ANNOTATION: text}
        assert pod_target(web, 8080) == ("127.0.0.1", 8080)

    def test_annotation_has_no_effect_for_pods_with_their_own_address(self) -> None:
        web = pod("web", address="127.128.0.7")
        web.metadata.annotations = {PORTS_ANNOTATION: "8080=22"}
        assert pod_target(web, 8080) == ("127.128.0.7", 8080)

    def test_pod_without_an_address_has_no_target(self) -> None:
        assert pod_target(pod("web"), 80) is None


class TestConflicts:
    def test_program_on_all_addresses_takes_the_port_of_other_pods(self) -> None:
        with socket.socket() as program:
            port = unused_port()
            program.bind(("0.0.0.0", port))  # that is the conflict; it does not listen, so nothing is reachable
            (message,) = port_conflicts(pod("web-2", port), "127.128.0.9")
            assert message.startswith(f"port {port} is in use at 127.128.0.9")
            assert "POD_IP" in message
        assert port_conflicts(pod("web-2", port), "127.128.0.9") == []

    def test_program_on_its_own_address_takes_no_port(self) -> None:
        with socket.create_server(("127.128.0.8", 0)) as server:
            port = server.getsockname()[1]
            assert port_conflicts(pod("web-2", port), "127.128.0.9") == []
            assert len(port_conflicts(pod("web-2", port), "127.128.0.8")) == 1
            assert port not in wildcard_ports([os.getpid()])

    @pytest.mark.skipif(os.getuid() != 0, reason="network namespaces need root")
    @pytest.mark.parametrize("family", ["socket.AF_INET", "socket.AF_INET6"])
    def test_finds_programs_on_all_addresses(self, family: str) -> None:
        program = f"""
import os, socket
from kubewright.cluster.services import wildcard_ports
with socket.create_server(("", 0), family={family}) as server:
    print(wildcard_ports([os.getpid()]) == {{server.getsockname()[1]}})
"""
        # In an empty network, where nothing reaches it.
        command = ["unshare", "--net", sys.executable, "-c", program]
        assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "True\n"

    def test_port_that_needs_privileges_is_reported(self) -> None:
        def denied(address: str, port: int) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

        (message,) = port_conflicts(pod("web", 80), "127.128.0.9", bind=denied)
        assert message.startswith("port 80 needs privileges")
        assert "ip_unprivileged_port_start" in message

    def test_ended_process_has_no_ports(self) -> None:
        assert wildcard_ports([2**30]) == set()
