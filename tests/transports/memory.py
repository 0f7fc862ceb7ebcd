"""An API server in memory that tests can disturb: a `Transport` for the client.

It serves objects of any kind one at a time, with versions as kube-apiserver has them: a PUT is for one version (409), a
POST for a new name (409), and an unknown name is 404. Lists and watches are of ConfigMaps, as kube-apiserver sends
them: streaming lists with their end bookmark, pages with continue tokens, 410 after compaction, and events as a
selector sees them.

The embedded cluster is the server for everything else. It cannot serve broken objects, forget its history at will, or
answer in one step without a task; tests of caches and elections need that.
"""

from __future__ import annotations

import asyncio
import copy
import json
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from kubewright.api import Selector, core
from kubewright.cache import Informer
from kubewright.client import Client, ConnectionLost, Request
from kubewright.clock import VirtualClock
from tests.transports.scripted import ScriptedResponse, status_response

Json = dict[str, Any]
Key = tuple[str, str]


class OpenWatch:
    """The answer to a watch: lines until it is ended, cut or closed."""

    def __init__(self, server: MemoryServer, namespace: str, selector: Selector, *, partial: bool = False) -> None:
        self.partial = partial
        self.status = 200
        self.headers: Mapping[str, str] = {}
        self.namespace = namespace
        self.selector = selector
        self.closed = False
        self.silent = False
        self._server = server
        self._pieces: list[bytes] = []
        self._end: BaseException | None = None
        self._ended = False
        self._news = asyncio.Event()

    def warnings(self) -> list[str]:
        return []

    async def read(self) -> bytes:
        raise AssertionError("a watch is not read as a whole")

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            while self._pieces and not self.silent:
                yield self._pieces.pop(0)
            if self._ended:
                if self._end is not None:
                    raise self._end
                return
            self._news.clear()
            await self._news.wait()

    def close(self) -> None:
        self.closed = True
        if self in self._server.watches:
            self._server.watches.remove(self)

    def send(self, type_: str, obj: Json) -> None:
        if self.partial and type_ not in ("BOOKMARK", "ERROR"):
            obj = partial_of(obj)
        line = json.dumps({"type": type_, "object": obj}, separators=(",", ":")).encode() + b"\n"
        size = self._server.chunk_size or len(line)
        self._pieces += [line[at : at + size] for at in range(0, len(line), size)]
        self._news.set()

    def sees(self, obj: Json | None) -> bool:
        if obj is None or (self.namespace and obj["metadata"]["namespace"] != self.namespace):
            return False
        return self.selector.matches(obj["metadata"].get("labels"))

    def tell(self, revision: int, old: Json | None, new: Json | None) -> None:
        """An event, as this watch sees it: an object that leaves the selection is deleted for the selector."""
        before, after = self.sees(old), self.sees(new)
        if after:
            assert new is not None
            self.send("MODIFIED" if before else "ADDED", new)
        elif before:
            assert old is not None
            last = copy.deepcopy(old)
            last["metadata"]["resourceVersion"] = str(revision)
            self.send("DELETED", last)

    def finish(self, error: BaseException | None = None) -> None:
        self._end, self._ended = error, True
        self._news.set()
        if self in self._server.watches:
            self._server.watches.remove(self)


@dataclass
class MemoryServer:
    """The server. `streaming` is whether it knows streaming lists, `reduces` whether it can send metadata alone."""

    streaming: bool = True
    reduces: bool = True
    expire_by_event: bool = False
    chunk_size: int = 0
    revision: int = 100
    compacted: int = 0
    down: bool = False
    served: bool = True
    forbidden: set[str] = field(default_factory=set)
    tables: dict[str, dict[Key, Json]] = field(default_factory=lambda: defaultdict(dict))
    writes: list[str] = field(default_factory=list)
    history: list[tuple[int, Json | None, Json | None]] = field(default_factory=list)
    watches: list[OpenWatch] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    pages: dict[str, list[Json]] = field(default_factory=dict)

    @property
    def objects(self) -> dict[Key, Json]:
        """The ConfigMaps by namespace and name."""
        return self.tables["configmaps"]

    # What happens on the server

    def put(self, namespace: str, name: str, **changes: Any) -> Json:
        """Create or change an object; `labels` and `owner` are what changes.

        `broken` makes it one that does not fit its `model`, or one whose very `header` cannot be read.
        """
        self.revision += 1
        old = self.objects.get((namespace, name))
        new: Json = copy.deepcopy(old) if old else {"metadata": {"name": name, "namespace": namespace}}
        meta = new["metadata"]
        meta.setdefault("uid", f"uid-{self.revision}")
        meta["resourceVersion"] = str(self.revision)
        meta["managedFields"] = [{"manager": "test", "operation": "Apply", "fieldsV1": {"f:data": {}}}]
        if "labels" in changes:
            meta["labels"] = changes["labels"]
        if "owner" in changes:
            owner = {"apiVersion": "v1", "kind": "Owner", "name": "o", "uid": changes["owner"], "controller": True}
            meta["ownerReferences"] = [owner]
        if "deletionTimestamp" in changes:
            meta["deletionTimestamp"] = changes["deletionTimestamp"]
            meta["finalizers"] = ["example.com/keep"]
        broken = changes.get("broken", "")
        new["data"] = {"revision": self.revision if broken == "model" else str(self.revision)}
        meta["generation"] = "none" if broken == "header" else self.revision
        self._record(old, new)
        return self.named(new)

    def delete(self, namespace: str, name: str) -> Json | None:
        old = self.objects.get((namespace, name))
        if old is not None:
            self.revision += 1
            self._record(old, None)
        return old

    def _record(self, old: Json | None, new: Json | None) -> None:
        state = new or old
        assert state is not None
        key = (state["metadata"]["namespace"], state["metadata"]["name"])
        if new is None:
            del self.objects[key]
        else:
            self.objects[key] = new
        old, new = old and self.named(old), new and self.named(new)
        self.history.append((self.revision, old, new))
        for watch in self.watches:
            watch.tell(self.revision, old, new)

    @staticmethod
    def named(obj: Json) -> Json:
        return {"kind": "ConfigMap", "apiVersion": "v1", **obj}

    def bookmark(self) -> None:
        for watch in self.watches:
            watch.send("BOOKMARK", self._bookmark())

    def _bookmark(self, **annotations: str) -> Json:
        metadata: Json = {"resourceVersion": str(self.revision)}
        if annotations:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}

    def expire(self) -> None:
        """Drop all history and the lists in progress, and end the watches."""
        self.compacted = self.revision
        self.pages.clear()
        self.end()

    def cut(self) -> None:
        for watch in [*self.watches]:
            watch.finish(ConnectionLost("cut", sent=True))

    def end(self) -> None:
        for watch in [*self.watches]:
            watch.finish()

    def silence(self) -> None:
        """The open connections stay open, and nothing comes through them any more."""
        for watch in [*self.watches]:
            watch.silent = True
            self.watches.remove(watch)

    # Transport

    async def close(self) -> None:
        self.cut()

    async def send(self, request: Request) -> ScriptedResponse | OpenWatch:
        self.requests.append(request)
        await asyncio.sleep(0)
        if self.down:
            raise ConnectionLost("cannot connect", sent=False)
        return self.handle(request)

    def handle(self, request: Request) -> ScriptedResponse | OpenWatch:
        """Answers in one step."""
        if not self.served:
            return status_response(404, "NotFound", "the server could not find the requested resource")
        if request.method != "GET":
            self.writes.append(f"{request.method} {request.path}")
        if request.method == "POST":
            return self._create(request)
        if request.name:
            return self._update(request) if request.method == "PUT" else self._get(request)
        query = dict(request.query)
        verb = "watch" if query.get("watch") == "true" else "list"
        if verb in self.forbidden:
            message = f'configmaps is forbidden: User "jane" cannot {verb} resource "configmaps"'
            return status_response(403, "Forbidden", message)
        selector = Selector.parse(query.get("labelSelector", ""))
        partial = self.reduces and "PartialObjectMetadata" in request.headers.get("Accept", "")
        if verb == "list":
            return self._list(request.namespace, selector, query, partial=partial)
        return self._watch(request.namespace, selector, query, partial=partial)

    def _get(self, request: Request) -> ScriptedResponse:
        found = self._table(request).get((request.namespace, request.name))
        return ScriptedResponse(200, found) if found else status_response(404, "NotFound")

    def _create(self, request: Request) -> ScriptedResponse:
        body: Json = json.loads(request.body or b"{}")
        key = (request.namespace, body["metadata"]["name"])
        if key in self._table(request):
            return status_response(409, "AlreadyExists")
        return ScriptedResponse(201, self.store(self._plural(request), key, body))

    def _update(self, request: Request) -> ScriptedResponse:
        body: Json = json.loads(request.body or b"{}")
        key = (request.namespace, request.name)
        stored = self._table(request).get(key)
        if stored is None:
            return status_response(404, "NotFound")
        if body["metadata"].get("resourceVersion") != stored["metadata"]["resourceVersion"]:
            return status_response(409, "Conflict")
        return ScriptedResponse(200, self.store(self._plural(request), key, body))

    def store(self, plural: str, key: Key, body: Json) -> Json:
        """Writes an object as an authorized client, whatever its version. No watch sees it."""
        self.revision += 1
        stored = self.tables[plural][key] = copy.deepcopy(body)
        stored["metadata"]["resourceVersion"] = str(self.revision)
        return stored

    @staticmethod
    def _plural(request: Request) -> str:
        return request.resource.partition(".")[0]

    def _table(self, request: Request) -> dict[Key, Json]:
        return self.tables[self._plural(request)]

    def _list(self, namespace: str, selector: Selector, query: dict[str, str], *, partial: bool) -> ScriptedResponse:
        token, limit = query.get("continue", ""), int(query.get("limit", "0"))
        if token:
            if token not in self.pages:
                return status_response(410, "Expired", "The provided continue parameter is too old")
            revision, rest = token.split(".")[0], self.pages.pop(token)
        else:
            watch = OpenWatch(self, namespace, selector)
            revision = str(self.revision)
            rest = [copy.deepcopy(obj) for _, obj in sorted(self.objects.items()) if watch.sees(obj)]
        metadata: Json = {"resourceVersion": revision}
        if limit and len(rest) > limit:
            metadata["continue"] = f"{revision}.{len(self.requests)}"
            self.pages[metadata["continue"]] = rest[limit:]
            rest = rest[:limit]
        if partial:
            items = [partial_of(obj) for obj in rest]
            names = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
            return ScriptedResponse(200, {**names, "metadata": metadata, "items": items})
        return ScriptedResponse(200, {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": rest})

    def _watch(
        self, namespace: str, selector: Selector, query: dict[str, str], *, partial: bool
    ) -> ScriptedResponse | OpenWatch:
        watch = OpenWatch(self, namespace, selector, partial=partial)
        if query.get("sendInitialEvents") == "true":
            if not self.streaming:
                return status_response(422, "Invalid", "sendInitialEvents: Forbidden")
            for _, obj in sorted(self.objects.items()):
                if watch.sees(obj):
                    watch.send("ADDED", self.named(obj))
            watch.send("BOOKMARK", self._bookmark(end="true"))
        else:
            since = int(query.get("resourceVersion", self.revision))
            if since < self.compacted:
                if not self.expire_by_event:
                    return status_response(410, "Expired", "too old resource version")
                expired = {"kind": "Status", "apiVersion": "v1", "code": 410, "reason": "Expired", "message": "too old"}
                watch.send("ERROR", expired)
                watch.finish()
                return watch
            for revision, old, new in self.history:
                if revision > since:
                    watch.tell(revision, old, new)
        self.watches.append(watch)
        return watch


def partial_of(obj: Json) -> Json:
    """The metadata alone, as servers send it where they are asked for it."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def informer_of(server: MemoryServer, clock: VirtualClock, **options: Any) -> Informer[core.ConfigMap]:
    """An informer of the server's objects, on that clock."""
    rng = random.Random(1)
    client = Client(transport=server, clock=clock, rng=rng)
    return Informer(client, core.ConfigMap, clock=clock, rng=rng, **options)


@asynccontextmanager
async def informed(
    server: MemoryServer, **options: Any
) -> AsyncIterator[tuple[Informer[core.ConfigMap], VirtualClock]]:
    """The same, running, after all that can happen at once has happened."""
    clock = VirtualClock()
    async with informer_of(server, clock, **options) as informer:
        await clock.settled()
        yield informer, clock
