"""The addresses that fake nodes give to pods."""

from __future__ import annotations

import ipaddress

import pytest

from kubewright.cluster.nodes import PodAddresses


def test_allocates_each_address_once_and_reuses_released_ones() -> None:
    addresses = PodAddresses(ipaddress.IPv4Network("10.0.0.0/29"))
    addresses.mark_used("10.0.0.2")
    allocated = [addresses.allocate() for _ in range(5)]
    assert allocated == [f"10.0.0.{number}" for number in (1, 3, 4, 5, 6)]
    with pytest.raises(RuntimeError, match="all 6 pod addresses of"):
        addresses.allocate()
    addresses.release("10.0.0.3")
    assert addresses.allocate() == "10.0.0.3"


def test_gives_each_node_its_own_network() -> None:
    assert PodAddresses.of_node("a").allocate() != PodAddresses.of_node("b").allocate()
    assert PodAddresses.of_node("a").allocate() == PodAddresses.of_node("a").allocate()


def test_clusters_do_not_share_addresses() -> None:
    assert PodAddresses().allocate() == PodAddresses().allocate() == "10.244.0.1"
