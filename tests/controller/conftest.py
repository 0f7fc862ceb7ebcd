"""A stage for controllers without a server: a cache that the test fills, a clock that the test moves."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest

from kubewright import resource
from kubewright.api import Model, Object, ObjectMeta, Resource, encode, to_dict
from kubewright.api.kinds import new_status
from kubewright.cache import Caches, Informer, ObjectKey
from kubewright.cache._store_writer import StoreWriter  # private: puts objects into a cache without a watch
from kubewright.client import Client, Transport
from kubewright.clock import Clock, VirtualClock
from kubewright.controller import Applier, CachedKinds, Controller, Environment
from kubewright.events import EventRecorder
from kubewright.observe import Observer
from kubewright.operator import Operator
from tests.transports.disturbed import NoServer

R = TypeVar("R", bound=Object)


class ThingSpec(Model):
    size: int = 0


class ThingStatus(Model):
    ready: int = 0


@resource("example.com/v1")
class Thing(Resource[ThingSpec, ThingStatus]):
    """The kind that the tests reconcile."""


@resource("example.com/v1")
class Part(Resource[ThingSpec, None]):
    """The kind that things own."""


class Stage:
    """Controllers on caches that `put` and `remove` fill as the watch would."""

    def __init__(
        self,
        operator: Operator,
        clock: Clock,
        *,
        transport: Transport | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.clock = clock
        self.observer = observer or Observer()
        self.client = Client(transport=transport or NoServer(), clock=clock).with_hooks(*self.observer.hooks)
        self.recorder = EventRecorder(self.client, operator.name, clock=clock)
        self.kinds = CachedKinds()
        self.informers: dict[type[Object], Informer[Any]] = {}
        self._revisions = itertools.count(1)
        environment = Environment(
            client=self.client,
            caches=self.kinds,
            applier=Applier(self.client, self.kinds),
            recorder=self.recorder,
            clock=clock,
            loop=asyncio.get_running_loop(),
            failure_events=operator.settings.failure_events is not False,
            observer=self.observer,
        )
        self.controllers: list[Controller[Any]] = []
        caches = Caches(self.client, clock=clock)
        self.kinds.declare([use for one in operator.registrations() for use in one.caches], caches)
        self.informers = {informer.kind: informer for informer in caches.informers}
        for registration in operator.registrations():
            self.controllers.append(Controller(registration, environment))
        for controller in self.controllers:
            controller.listen()

    @property
    def controller(self) -> Controller[Any]:
        return self.controllers[0]

    def put(self, obj: Object, *, initial: bool = False, raw: bytes | None = None) -> None:
        """Delivers a new state of an object, as the watch would."""
        obj.metadata.resource_version = str(next(self._revisions))
        informer = self.informers[type(obj)]
        self._writer(informer).put(informer._decoder.snapshot(raw or stored(obj)), initial=initial)

    def remove(self, obj: Object) -> None:
        """Delivers the deletion of an object."""
        obj.metadata.resource_version = str(next(self._revisions))
        informer = self.informers[type(obj)]
        self._writer(informer).remove(informer._decoder.snapshot(encode(obj)))

    def synced(self) -> None:
        """Completes the initial list; resyncs begin."""
        for informer in self.informers.values():
            informer._handlers.synced = True
            informer._handlers.start()

    def _writer(self, informer: Informer[Any]) -> StoreWriter[Any]:
        return StoreWriter(informer._store, informer._overlay, informer._handlers.deliver)

    def recorded(self) -> list[tuple[str, str]]:
        """The events that wait to be written."""
        line = self.recorder._line
        return [(event.reason, event.message) for event in (line.get_nowait() for _ in range(line.qsize()))]


@asynccontextmanager
async def working(
    operator: Operator, clock: Clock, *, transport: Transport | None = None, observer: Observer | None = None
) -> AsyncIterator[Stage]:
    """Runs the controllers of a stage."""
    stage = Stage(operator, clock, transport=transport, observer=observer)
    stage.synced()
    for controller in stage.controllers:
        controller.start()
    try:
        yield stage
    finally:
        for informer in stage.informers.values():
            informer._handlers.stop()
        for controller in stage.controllers:
            await controller.stop(grace=5)


def stored(obj: Object) -> bytes:
    """The object as a server has it: without a status that no controller has written."""
    content = to_dict(obj)
    if getattr(obj, "status", None) == new_status(type(obj)):
        content.pop("status", None)
    return encode(content)


def thing(name: str = "one", size: int = 0, **meta: Any) -> Thing:
    """A thing with a uid of its own name."""
    fields: dict[str, Any] = {"namespace": "default", "uid": f"uid-{name}", "generation": 1} | meta
    return Thing(metadata=ObjectMeta(name=name, **fields), spec=ThingSpec(size=size))


def key(name: str = "one") -> ObjectKey:
    return ObjectKey("default", name)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def operator() -> Operator:
    return Operator("thing-operator")
