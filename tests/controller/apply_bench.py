"""A bench for tests of apply: a server, a cache that is as far behind as the test wants, and the sent requests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from kubewright.api import Object, apps, core, meta
from kubewright.cache import ObjectKey, Snapshot, SnapshotDecoder
from kubewright.client import Client, NotFound, Request, StrategicPatch
from kubewright.cluster import Cluster
from kubewright.controller import Applier
from kubewright.testing import RealCluster

R = TypeVar("R", bound=Object)
MANAGER = "wright"


class Mirror:
    """A cache that is exactly as far behind as the test wants: it sees a change only after `look`."""

    def __init__(self) -> None:
        self.snapshots: dict[tuple[type[Object], ObjectKey], Snapshot[Any]] = {}
        self.covered = True

    def covers(self, kind: type[Object], namespace: str) -> bool:
        return self.covered

    def get(self, kind: type[R], key: ObjectKey) -> Snapshot[R] | None:
        return self.snapshots.get((kind, key))

    def controlled_by(self, kind: type[R], uid: str) -> Iterable[Snapshot[R]]:
        for (cached_kind, _), snapshot in self.snapshots.items():
            if cached_kind is kind and snapshot.controller is not None and snapshot.controller.uid == uid:
                yield snapshot

    def written(self, obj: Object) -> None:
        assert obj.metadata.origin is not None
        raw = obj.metadata.origin.raw
        self.snapshots[type(obj), ObjectKey.of(obj)] = SnapshotDecoder(type(obj), field_manager=MANAGER).snapshot(raw)

    def removed(self, kind: type[Object], key: ObjectKey, uid: str) -> None:
        self.snapshots.pop((kind, key), None)


class Bench:
    """An applier on a real server, its cache, and a list of the requests that it sent."""

    def __init__(self, client: Client, namespace: str, requests: list[Request]) -> None:
        self.client = client
        self.namespace = namespace
        self.requests = requests
        self.mirror = Mirror()
        self.applier = Applier(client, self.mirror, field_manager=MANAGER)
        self.owner = core.ConfigMap()

    def sent(self) -> list[str]:
        """Returns the requests since the last call."""
        verbs = [f"{request.verb} {request.resource}" for request in self.requests]
        self.requests.clear()
        return verbs

    def before(self, verb: str, action: Callable[[], object]) -> None:
        """Runs an action just before the next request of that verb, as another client might."""
        self.race = (verb, action)

    race: tuple[str, Callable[[], object]] | None = None

    def hook(self, request: Request) -> None:
        self.requests.append(request)
        if self.race is not None and self.race[0] == request.verb:
            action, self.race = self.race[1], None
            action()

    async def look(self, kind: type[Object], name: str) -> None:
        """Copies the current state of the server into the cache."""
        try:
            self.mirror.written(await self.client.get(kind, name))
        except NotFound:
            self.mirror.snapshots.pop((kind, ObjectKey(self.namespace, name)), None)
        self.requests.clear()

    async def live(self, kind: type[R], name: str) -> R:
        found = await self.client.get(kind, name)
        self.requests.clear()
        return found

    async def edit(self, kind: type[Object], name: str, content: dict[str, Any]) -> None:
        """Changes the object as another client, and updates the cache."""
        await self.client.patch(kind, name, StrategicPatch(content))
        await self.look(kind, name)


@asynccontextmanager
async def open_bench(cluster: Cluster | RealCluster, namespace: str) -> AsyncIterator[Bench]:
    """Opens a bench in that namespace. Its client has another field manager than the applier."""
    made: list[Bench] = []
    async with cluster.client(
        namespace=namespace, field_manager="others", hooks=[lambda request: made[0].hook(request)]
    ) as client:
        made.append(Bench(client, namespace, []))
        made[0].owner = await client.create(config_map("parent"))
        made[0].requests.clear()
        yield made[0]


def config_map(name: str = "child", namespace: str = "", **data: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace=namespace), data=data or None)


def deployment(**container: Any) -> apps.Deployment:
    labels = {"app": "web"}
    template = core.PodTemplateSpec(
        metadata=meta.ObjectMeta(labels=labels),
        spec=core.PodSpec(containers=[core.Container(name="web", image="nginx", **container)]),
    )
    return apps.Deployment(
        metadata=meta.ObjectMeta(name="web"),
        spec=apps.DeploymentSpec(replicas=0, selector=meta.LabelSelector(match_labels=labels), template=template),
    )
