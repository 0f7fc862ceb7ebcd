"""A client for the part of OpenStack's Network API (Neutron v2.0) that the example needs: networks and subnets.

What belongs to us is found by a tag, since names are not unique there. Requests end in time and are repeated where that
is safe; everything that goes wrong is a `NeutronError` that says what, and never shows the token.
"""

import asyncio
import os
from typing import Any, Self

import aiohttp

_BUSY = frozenset({429, 500, 502, 503, 504})


class NeutronError(Exception):
    """Neutron cannot be reached, or refuses."""


class Neutron:
    """Talks to the Neutron at `NEUTRON_URL`, with the token in `NEUTRON_TOKEN`, unless both are given."""

    def __init__(self, url: str = "", token: str = "", *, timeout: float = 10.0, tries: int = 3) -> None:
        self._url, self._token = url, token
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._tries = tries

    async def __aenter__(self) -> Self:
        url = self._url or os.environ.get("NEUTRON_URL", "http://127.0.0.1:9696")
        token = self._token or os.environ.get("NEUTRON_TOKEN", "")
        headers = {"X-Auth-Token": token, "Accept": "application/json"}
        self._session = aiohttp.ClientSession(url, headers=headers, timeout=self._timeout)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    # Networks and subnets

    async def networks(self, tag: str) -> list[dict[str, Any]]:
        """The networks with that tag, and those that were made for it and lack it."""
        tagged = (await self._send("GET", "/v2.0/networks", params={"tags": tag}))["networks"]
        made = (await self._send("GET", "/v2.0/networks", params={"description": tag}))["networks"]
        return sorted({one["id"]: one for one in (*tagged, *made)}.values(), key=lambda one: str(one["id"]))

    async def create_network(self, name: str, tag: str) -> dict[str, Any]:
        """Make a network. It can only be tagged afterwards, so the tag is in the description from the start."""
        made = await self._send("POST", "/v2.0/networks", {"network": {"name": name, "description": tag}})
        network: dict[str, Any] = made["network"]
        return network

    async def tag_network(self, network: str, tag: str) -> None:
        """Put a tag on a network."""
        await self._send("PUT", f"/v2.0/networks/{network}/tags/{tag}")

    async def rename_network(self, network: str, name: str) -> None:
        """Give a network another name."""
        await self._send("PUT", f"/v2.0/networks/{network}", {"network": {"name": name}})

    async def delete_network(self, network: str) -> None:
        """Delete a network and its subnets; one that is gone is fine."""
        await self._send("DELETE", f"/v2.0/networks/{network}")

    async def subnets(self, network: str) -> list[dict[str, Any]]:
        """The subnets of a network."""
        found: list[dict[str, Any]] = (await self._send("GET", "/v2.0/subnets", params={"network_id": network}))[
            "subnets"
        ]
        return found

    async def create_subnet(self, network: str, cidr: str, gateway: str) -> None:
        """Make a subnet."""
        version = 6 if ":" in cidr else 4
        subnet = {"network_id": network, "ip_version": version, "cidr": cidr, "gateway_ip": gateway}
        await self._send("POST", "/v2.0/subnets", {"subnet": subnet})

    async def change_gateway(self, subnet: str, gateway: str) -> None:
        """Give a subnet another gateway. (Its CIDR cannot be changed.)"""
        await self._send("PUT", f"/v2.0/subnets/{subnet}", {"subnet": {"gateway_ip": gateway}})

    async def delete_subnet(self, subnet: str) -> None:
        """Delete a subnet; one that is gone is fine."""
        await self._send("DELETE", f"/v2.0/subnets/{subnet}")

    # Requests

    async def _send(self, method: str, path: str, body: Any = None, params: dict[str, str] | None = None) -> Any:
        """One request, repeated when Neutron is busy or away. Not a POST, though: it might be done twice."""
        trouble, tries = "", 1 if method == "POST" else self._tries
        for attempt in range(1, tries + 1):
            try:
                async with self._session.request(method, path, json=body, params=params) as response:
                    if response.status not in _BUSY:
                        return await _answer(method, path, response)
                    trouble = f"status {response.status}"
            except TimeoutError:
                trouble = "no answer in time"
            except aiohttp.ClientError as error:
                trouble = type(error).__name__
            if attempt < tries:
                await asyncio.sleep(0.1 * 2**attempt)
        raise NeutronError(f"Neutron is not there for {method} {path}: {trouble}")


async def _answer(method: str, path: str, response: aiohttp.ClientResponse) -> Any:
    if response.status == 404 and method == "DELETE":
        return None
    if response.status >= 300:  # without the answer's text: who knows what a proxy on the way repeats in it
        raise NeutronError(f"Neutron refuses {method} {path}: {response.status} {response.reason}")
    return await response.json() if response.content_type == "application/json" else None
