"""The example Foo, its definition, and helpers that wait for an operator's work."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest
import yaml

from kubewright.api import Object, from_dict, is_condition_true
from kubewright.api.apiextensions.v1 import CustomResourceDefinition
from kubewright.api.core.v1 import Event
from kubewright.cache import ObjectKey
from kubewright.client import AlreadyExists, Client, NotFound, Request
from kubewright.cluster import Cluster
from kubewright.operator import Running
from kubewright.testing import RealCluster
from tests.patience import until

T = TypeVar("T")
R = TypeVar("R", bound=Object)

EXAMPLE = Path(__file__).parents[2] / "examples" / "foo"


@pytest.fixture
def example(namespace: str) -> Iterator[ModuleType]:
    """The example, loaded again for each test, and limited to the test's namespace."""
    module = load(EXAMPLE / "foo.py")
    module.operator.namespaces = (namespace,)
    yield module
    del sys.modules[module.__name__]


def load(path: Path) -> ModuleType:
    """Loads a file as a separate module."""
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
async def foos(client: Client) -> None:
    """Installs the definition of Foo."""
    await install(client, yaml.safe_load((EXAMPLE / "config/crd/bases/example.com_foos.yaml").read_text()))


async def install(client: Client, definition: dict[str, Any]) -> None:
    """Installs a definition and waits until the server serves it."""
    wanted = from_dict(CustomResourceDefinition, definition)
    with contextlib.suppress(AlreadyExists):
        await client.create(wanted)
    await client.wait_for(
        CustomResourceDefinition, wanted.metadata.name, lambda crd: is_condition_true(crd.status, "Established")
    )


@dataclass
class Calls:
    """A client that records its requests, except watches."""

    client: Client
    requests: list[str] = field(default_factory=list)

    def writes(self) -> list[str]:
        return [request for request in self.requests if not request.startswith(("get ", "list ", "watch "))]


@pytest.fixture
async def calls(cluster: Cluster | RealCluster) -> AsyncIterator[Calls]:
    """A client for the operator under test."""
    requests: list[str] = []

    def note(request: Request) -> None:
        if request.verb != "watch" and not request.resource.startswith("events"):
            requests.append(str(request))

    async with cluster.client(hooks=[note]) as client:
        yield Calls(client, requests)


async def settled(running: Running, *seen: Object, succeeded: bool = False) -> None:
    """Waits until the caches have all writes, including these objects, and the queues are idle.

    With `succeeded`, also until no failed reconcile of these objects waits for its retry: two controllers of one object
    may conflict on a real server.
    """
    caches = running.controllers[0]._environment.caches

    async def quiet() -> bool:
        for obj in seen:
            snapshot = caches.informer(type(obj)).lister.snapshot(ObjectKey.of(obj))
            if snapshot is None or snapshot.resource_version < int(obj.metadata.resource_version):
                return False
        if any(len(informer._overlay) for kinds in caches._by_kind.values() for informer in kinds):
            return False
        keys = [ObjectKey.of(obj) for obj in seen] if succeeded else []
        return all(
            controller.idle and not any(controller.queue.retries(key) for key in keys)
            for controller in running.controllers
        )

    await until(quiet)


async def find(client: Client, kind: type[R], name: str, namespace: str) -> R | None:
    """Returns the object on the server, or None."""
    try:
        return await client.get(kind, name, namespace)
    except NotFound:
        return None


async def events(client: Client, namespace: str, reason: str) -> list[Event]:
    """Returns the events with that reason."""
    return [event for event in await client.list(Event, namespace) if event.reason == reason]
