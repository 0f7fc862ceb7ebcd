"""`Connection`: the operator's connection to the cluster, with faults at its requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Final, Protocol

import msgspec

from kubewright.client import Request, Response, Transport
from kubewright.clock import VirtualClock
from kubewright.explore.model import Sent
from kubewright.explore.runner._actors import ACTING, Acting, address_of
from kubewright.explore.runner._recorder import NOISE

__all__ = ["OPERATOR", "Connection", "Director"]

OPERATOR: Final = "explored-operator"
_WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_METHODS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_REVIEWS: Final = ("reviews.authorization.k8s.io", "reviews.authentication.k8s.io")


class Director(Protocol):
    """Decides about the requests and events of a connection."""

    clock: VirtualClock
    latency: float
    watched: set[str]

    def sent(self, verb: str, resource: str, namespace: str, name: str, subresource: str, incarnation: int) -> Sent:
        """Records a write request before it is sent."""

    async def before(self, sent: Sent, connection: Connection) -> None:
        """Applies the faults before a write."""

    async def after(self, sent: Sent, connection: Connection) -> None:
        """Applies the faults after a write took effect."""

    async def passed(self, resource: str) -> None:
        """Waits until events of a resource may arrive."""


class Connection:
    """A transport that records and disturbs the requests of one incarnation of the operator.

    After `cut`, no request reaches the server and no response or event reaches the operator, as if its process were
    gone.
    """

    def __init__(self, inner: Transport, stage: Director, incarnation: int) -> None:
        self._inner = inner
        self._stage = stage
        self.incarnation = incarnation
        self.dead = False

    def cut(self) -> None:
        """Cuts the operator off."""
        self.dead = True

    async def send(self, request: Request) -> Response:
        """Sends a request, with the faults that are planned for it."""
        await self._alive()
        if request.stream:
            return await self._watch(request)
        stage = self._stage
        if stage.latency:
            await stage.clock.sleep(stage.latency / 2)
            await self._alive()
        sent = self._sent(request)
        if sent is not None:
            await stage.before(sent, self)
            await self._alive()
        response = await self._serve(request, sent)
        if sent is not None:
            sent.status = response.status
            if sent.verb == "create" and not sent.name and response.status < 300:
                sent.name = msgspec.json.decode(await response.read()).get("metadata", {}).get("name", "")
            await stage.after(sent, self)
            await self._alive()
        if stage.latency:
            await stage.clock.sleep(stage.latency / 2)
        await self._alive()
        return response

    async def _serve(self, request: Request, sent: Sent | None) -> Response:
        if sent is None:
            return await self._inner.send(request)
        token = ACTING.set(Acting("operator", sent.verb, sent.resource, sent.namespace, sent.name, sent.number))
        try:
            return await self._inner.send(request)
        finally:
            ACTING.reset(token)

    async def _alive(self) -> None:
        if self.dead:
            await asyncio.get_running_loop().create_future()

    def _sent(self, request: Request) -> Sent | None:
        """Returns the record of a write that counts; None for reads, events, leases and definitions."""
        verb = _METHODS.get(request.method, "")
        resource, namespace, name, subresource = address_of(request.path)
        if verb not in _WRITES or resource in NOISE or resource.endswith(_REVIEWS) or subresource == "token":
            return None
        if ("dryRun", "All") in request.query:
            return None
        if verb == "delete" and not name:
            verb = "deletecollection"
        if verb == "create" and not name and request.body:
            name = msgspec.json.decode(request.body).get("metadata", {}).get("name", "")
        if request.headers.get("Content-Type", "").startswith("application/apply-patch"):
            verb = "apply"
        return self._stage.sent(verb, resource, namespace, name, subresource, self.incarnation)

    async def _watch(self, request: Request) -> Response:
        resource = address_of(request.path)[0]
        self._stage.watched.add(resource)
        await self._stage.passed(resource)
        await self._alive()
        return _GatedResponse(await self._inner.send(request), self, resource)

    async def pass_through(self, resource: str) -> None:
        """Waits until events of a resource may arrive."""
        await self._stage.passed(resource)
        await self._alive()

    async def close(self) -> None:
        """Closes the connection."""
        if not self.dead:
            await self._inner.close()


class _GatedResponse:
    """A watch whose events wait while the watch is slow."""

    def __init__(self, inner: Response, connection: Connection, resource: str) -> None:
        self._inner = inner
        self._connection = connection
        self._resource = resource

    @property
    def status(self) -> int:
        """The status."""
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers."""
        return self._inner.headers

    def warnings(self) -> list[str]:
        """Returns the warnings."""
        return self._inner.warnings()

    async def read(self) -> bytes:
        """Returns the body."""
        return await self._inner.read()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yields events when they may arrive."""
        async for chunk in self._inner.chunks():
            await self._connection.pass_through(self._resource)
            yield chunk

    def close(self) -> None:
        """Closes the watch."""
        self._inner.close()
