"""`DryRunTransport`: no write changes the cluster, and reads show the writes of this run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec

from kubewright.api import Selector
from kubewright.client import Request, Response, Transport
from kubewright.operator.dry_run._answers import Answer, CannotSimulate, not_found, object_answer
from kubewright.operator.dry_run._simulation import ObjectAddress, SimulatedObject, Simulation
from kubewright.operator.dry_run._writes import DryWrites

__all__ = ["DryRunTransport"]

_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_PLAIN_SUBRESOURCES: Final = frozenset({"scale", "eviction", "binding", "approval", "ephemeralcontainers", "resize"})
"""Subresources that support dry runs, and whose results are not shown."""
_REVIEWS: Final = (".authorization.k8s.io", ".authentication.k8s.io")


class DryRunTransport:
    """Sends each write as a dry run, and adds its result to what reads return."""

    def __init__(self, inner: Transport, simulation: Simulation) -> None:
        self._inner = inner
        self._simulation = simulation
        self._writes = DryWrites(simulation, self._forward)

    async def send(self, request: Request) -> Response:
        """Answers a request. Raises `CannotSimulate` for a write that the server cannot do as a dry run."""
        if request.method in _READS:
            return await self._read(request)
        resource, _, part = request.resource.partition("/")
        if not resource or request.verb == "deletecollection" or part not in {"", "status", *_PLAIN_SUBRESOURCES}:
            raise CannotSimulate(f"{request}: not sent, because a dry run cannot show it")
        if resource.endswith(_REVIEWS) or ("dryRun", "All") in request.query:
            return await self._forward(request)
        if part in _PLAIN_SUBRESOURCES:
            self._simulation.other_writes.append(str(request))
            return await self._forward(request)
        return await self._write(request)

    async def close(self) -> None:
        """Closes the connections."""
        await self._inner.close()

    # Writes

    async def _write(self, request: Request) -> Answer:
        address = ObjectAddress.of(request)
        async with self._simulation.lock(address):
            found = self._simulation.objects.get(address)
            if request.verb == "create":
                return await self._writes.create(request, found, None)
            if found is None:
                stored = await self._stored(request)
                if stored.status >= 300 and stored.status != 404:
                    return stored
                base = stored.content if stored.status < 300 else None
                if base is None and request.headers.get("Content-Type") == "application/apply-patch+yaml":
                    return await self._writes.create(request, None, None)
                if base is None:
                    return not_found(request)
                found = SimulatedObject(address, base, base)
            if request.verb == "delete":
                return not_found(request) if found.state is None else await self._writes.delete(request, found)
            return await self._writes.change(request, found)

    async def _stored(self, request: Request) -> Answer:
        """Returns the object as the server has it, or its error."""
        path = request.path.removesuffix("/status") if "/" in request.resource else request.path
        resource = request.resource.partition("/")[0]
        headers = {name: value for name, value in request.headers.items() if name != "Content-Type"}
        read = msgspec.structs.replace(
            request, method="GET", path=path, query=[], body=None, verb="get", resource=resource, headers=headers
        )
        return await _complete(await self._inner.send(read))

    async def _forward(
        self,
        request: Request,
        *,
        method: str | None = None,
        path: str | None = None,
        body: bytes | None = None,
        content_type: str | None = None,
    ) -> Answer:
        """Sends a request as a dry run. Returns the whole response."""
        method = method or request.method
        query = [pair for pair in request.query if pair[0] != "force" or content_type is None]
        if method != "DELETE" and ("dryRun", "All") not in query:
            query.append(("dryRun", "All"))
        headers = dict(request.headers)
        if content_type is not None or method == "POST":
            headers["Content-Type"] = content_type or "application/json"
        sent = msgspec.structs.replace(
            request,
            method=method,
            path=path or request.path,
            query=query,
            headers=headers,
            body=request.body if body is None else body,
        )
        return await _complete(await self._inner.send(sent))

    # Reads

    async def _read(self, request: Request) -> Response:
        if request.verb == "watch":
            return _FreezableWatch(await self._inner.send(request), self._simulation)
        if request.verb == "get" and request.resource.partition("/")[2] in ("", "status"):
            found = self._simulation.objects.get(ObjectAddress.of(request))
            if found is not None:
                return not_found(request) if found.state is None else object_answer(found.state)
        response = await self._inner.send(request)
        if request.verb != "list" or response.status >= 300:
            return response
        written = self._simulation.in_collection(ObjectAddress.of(request).collection, request.namespace)
        return _with_written(request, await _complete(response), written) if written else response


async def _complete(response: Response) -> Answer:
    if isinstance(response, Answer):
        return response
    return Answer(response.status, await response.read(), response.warnings())


def _with_written(request: Request, answer: Answer, written: list[SimulatedObject]) -> Answer:
    """Returns a list with the objects that this run has written. New ones are on its last page."""
    content = answer.content
    query = dict(request.query)
    selector = Selector.parse(query["labelSelector"]) if query.get("labelSelector") else None
    states = {(one.address.namespace, one.address.name): one.state for one in written}

    def matches(state: dict[str, Any] | None) -> bool:
        return state is not None and (selector is None or selector.matches(state["metadata"].get("labels") or {}))

    items = []
    for item in content.get("items") or ():
        key = (item["metadata"].get("namespace", ""), item["metadata"]["name"])
        state = states.pop(key) if key in states else item
        if matches(state):
            items.append(state)
    if not content.get("metadata", {}).get("continue") and not query.get("fieldSelector"):
        items += [state for state in states.values() if matches(state)]
    return Answer(answer.status, msgspec.json.encode(content | {"items": items}), answer.warned)


class _FreezableWatch:
    """A watch that delivers nothing more when the simulation is frozen, and stays open."""

    def __init__(self, inner: Response, simulation: Simulation) -> None:
        self._inner = inner
        self._simulation = simulation

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._inner.headers

    def warnings(self) -> list[str]:
        return self._inner.warnings()

    async def read(self) -> bytes:
        return await self._inner.read()

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner.chunks():
            if not self._simulation.frozen:
                yield chunk

    def close(self) -> None:
        self._inner.close()
