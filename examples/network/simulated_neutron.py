"""Neutron in memory, for the explorer: its rules, without a server. The state outlives the operator."""

import ipaddress
import uuid
from typing import Any

from neutron import Neutron, NeutronError

Items = dict[str, dict[str, Any]]


class SimulatedNeutron(Neutron):
    """Networks and subnets in a dict. Each call of a method is one at which the explorer injects faults."""

    def __init__(self, state: dict[str, Any]) -> None:
        super().__init__()
        self._networks: Items = state.setdefault("networks", {})
        self._subnets: Items = state.setdefault("subnets", {})

    def unavailable(self) -> Exception:
        """Returns the error of a failed call."""
        return NeutronError("Neutron is not there")

    async def networks(self, tag: str) -> list[dict[str, Any]]:
        """Returns the networks with that tag, and those that were made for it and lack it."""
        return [dict(one) for one in self._networks.values() if tag in one["tags"] or one["description"] == tag]

    async def create_network(self, name: str, tag: str) -> dict[str, Any]:
        """Creates a network. Names are not unique."""
        return dict(_added(self._networks, {"name": name, "description": tag, "tags": []}))

    async def tag_network(self, network: str, tag: str) -> None:
        """Adds a tag to a network."""
        found = self._network(network)
        found["tags"] = sorted({*found["tags"], tag})

    async def rename_network(self, network: str, name: str) -> None:
        """Changes the name of a network."""
        self._network(network)["name"] = name

    async def delete_network(self, network: str) -> None:
        """Deletes a network and its subnets."""
        self._networks.pop(network, None)
        for subnet in [one["id"] for one in self._subnets.values() if one["network_id"] == network]:
            del self._subnets[subnet]

    async def subnets(self, network: str) -> list[dict[str, Any]]:
        """Returns the subnets of a network."""
        return [dict(one) for one in self._subnets.values() if one["network_id"] == network]

    async def create_subnet(self, network: str, cidr: str, gateway: str) -> None:
        """Creates a subnet. Rejects one that overlaps with another subnet of the network."""
        self._network(network)
        for other in await self.subnets(network):
            if ipaddress.ip_network(cidr).overlaps(ipaddress.ip_network(other["cidr"])):
                raise NeutronError("Neutron refuses POST /v2.0/subnets: 400 Bad Request")
        _added(self._subnets, {"network_id": network, "cidr": cidr, "gateway_ip": gateway})

    async def change_gateway(self, subnet: str, gateway: str) -> None:
        """Changes the gateway of a subnet."""
        self._subnets[subnet]["gateway_ip"] = gateway

    async def delete_subnet(self, subnet: str) -> None:
        """Deletes a subnet."""
        self._subnets.pop(subnet, None)

    def _network(self, network: str) -> dict[str, Any]:
        if network not in self._networks:
            raise NeutronError("Neutron refuses the request: 404 Not Found")
        return self._networks[network]


def _added(items: Items, item: dict[str, Any]) -> dict[str, Any]:
    made = {"id": str(uuid.uuid4()), **item}
    items[made["id"]] = made
    return made
