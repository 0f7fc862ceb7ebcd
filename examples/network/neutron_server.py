"""A small stand-in for OpenStack Neutron v2.0: networks, subnets and tags in memory, over real HTTP.

It has the rules that the operator must know: a token, names that are not unique, a CIDR that cannot be changed, a
network that takes its subnets along. `python neutron_server.py` runs it on port 9696; tests use `NeutronServer`, and
let it fail with `broken`.
"""

import argparse
import asyncio
import ipaddress
import uuid
from typing import Any, Self

from aiohttp import web

Item = dict[str, Any]


class NeutronServer:
    """The server, while the block runs. `networks` and `subnets` are what it has, to be looked at and disturbed."""

    def __init__(self, *, token: str = "demo", port: int = 0) -> None:
        self.networks: dict[str, Item] = {}
        self.subnets: dict[str, Item] = {}
        self.broken = False
        """Answer everything with 503."""
        self.open = asyncio.Event()
        """Cleared, requests wait for their answer."""
        self.open.set()
        self.requests: list[str] = []
        self._token, self._port = token, port

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[self._guard])
        app.add_routes(
            [
                web.get("/v2.0/{kind:networks|subnets}", self._list),
                web.post("/v2.0/{kind:networks|subnets}", self._create),
                web.get("/v2.0/{kind:networks|subnets}/{id}", self._show),
                web.put("/v2.0/{kind:networks|subnets}/{id}", self._update),
                web.delete("/v2.0/{kind:networks|subnets}/{id}", self._delete),
                web.put("/v2.0/{kind:networks|subnets}/{id}/tags/{tag}", self._tag),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}"

    # Answers

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path}")
        await self.open.wait()
        if self.broken:
            return web.json_response({}, status=503)
        if request.headers.get("X-Auth-Token") != self._token:
            return _error(401, "The request you have made requires authentication.")
        response: web.StreamResponse = await handler(request)
        return response

    def _items(self, request: web.Request) -> tuple[dict[str, Item], str]:
        kind = request.match_info["kind"]
        return (self.networks if kind == "networks" else self.subnets), kind

    async def _list(self, request: web.Request) -> web.Response:
        items, kind = self._items(request)
        wanted = [item for item in items.values() if all(_fits(item, *pair) for pair in request.query.items())]
        return web.json_response({kind: wanted})

    async def _create(self, request: web.Request) -> web.Response:
        items, kind = self._items(request)
        given: Item = (await request.json())[kind[:-1]]
        if kind == "subnets" and (why := self._refusal(given)):
            return _error(400, why)
        item: Item = {"id": str(uuid.uuid4()), "name": "", "description": "", "tags": [], **given}
        items[item["id"]] = item
        return web.json_response({kind[:-1]: item}, status=201)

    def _refusal(self, subnet: Item) -> str:
        if subnet.get("network_id") not in self.networks:
            return f"Network {subnet.get('network_id')} could not be found."
        try:
            cidr = ipaddress.ip_network(subnet["cidr"])
            inside = ipaddress.ip_address(subnet["gateway_ip"]) in cidr
        except ValueError as error:
            return str(error)
        others = [
            ipaddress.ip_network(one["cidr"])
            for one in self.subnets.values()
            if one["network_id"] == subnet["network_id"]
        ]
        if any(cidr.version == other.version and cidr.overlaps(other) for other in others):
            return f"Requested subnet with cidr: {cidr} overlaps with another subnet."
        return "" if inside else "Gateway is not valid on subnet."

    async def _show(self, request: web.Request) -> web.Response:
        items, kind = self._items(request)
        found = items.get(request.match_info["id"])
        return _missing() if found is None else web.json_response({kind[:-1]: found})

    async def _update(self, request: web.Request) -> web.Response:
        items, kind = self._items(request)
        found, given = items.get(request.match_info["id"]), (await request.json())[kind[:-1]]
        if found is None:
            return _missing()
        if fixed := given.keys() & {"id", "cidr", "ip_version", "network_id"}:
            return _error(400, f"Cannot update read-only attribute {', '.join(sorted(fixed))}")
        found |= given
        return web.json_response({kind[:-1]: found})

    async def _delete(self, request: web.Request) -> web.Response:
        items, kind = self._items(request)
        if items.pop(request.match_info["id"], None) is None:
            return _missing()
        if kind == "networks":
            gone = [one["id"] for one in self.subnets.values() if one["network_id"] == request.match_info["id"]]
            for subnet in gone:
                del self.subnets[subnet]
        return web.Response(status=204)

    async def _tag(self, request: web.Request) -> web.Response:
        items, _ = self._items(request)
        found = items.get(request.match_info["id"])
        if found is None:
            return _missing()
        found["tags"] = sorted({*found["tags"], request.match_info["tag"]})
        return web.Response(status=201)


def _fits(item: Item, name: str, value: str) -> bool:
    return value in item["tags"] if name == "tags" else str(item.get(name)) == value


def _missing() -> web.Response:
    return _error(404, "could not be found")


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"NeutronError": {"message": message, "type": "", "detail": ""}}, status=status)


async def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description="A small stand-in for OpenStack Neutron.")
    parser.add_argument("--port", type=int, default=9696)
    parser.add_argument("--token", default="demo")
    given = parser.parse_args()
    async with NeutronServer(token=given.token, port=given.port) as server:
        print(f"export NEUTRON_URL={server.url} NEUTRON_TOKEN={given.token}", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
