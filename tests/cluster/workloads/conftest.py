"""An embedded cluster with workloads on a virtual clock, and helpers to create and read objects."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import pytest
import pytest_asyncio

from kubewright.api import Object, apps, batch, core, meta
from kubewright.client import Client
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.nodes import PodPlan
from kubewright.cluster.workloads import Workloads

O = TypeVar("O", bound=Object)  # noqa: E741

LABELS = {"app": "web"}


class Plans:
    """The plans of pods; a test may change them while the cluster runs."""

    def __init__(self) -> None:
        self.default = PodPlan(ready_delay=1)
        self.by_image: dict[str, PodPlan] = {}

    def __call__(self, pod: core.Pod) -> PodPlan:
        return self.by_image.get(pod.spec.containers[0].image or "", self.default)


class World:
    """The cluster, its clock, its plans and a client."""

    def __init__(self, cluster: Cluster, clock: VirtualClock, plans: Plans, client: Client) -> None:
        self.cluster = cluster
        self.clock = clock
        self.plans = plans
        self.client = client

    async def passes(self, seconds: float) -> None:
        """Advances the clock and processes everything that becomes due."""
        await self.clock.advance(seconds)
        await self.cluster.settled()
        await self.clock.settled()

    async def get(self, kind: type[O], name: str) -> O:
        return await self.client.get(kind, name)

    async def all(self, kind: type[O]) -> list[O]:
        return list(await self.client.list(kind))

    async def names(self, kind: type[Object]) -> list[str]:
        return [each.metadata.name for each in await self.client.list(kind)]

    async def change(self, kind: type[O], name: str, change: Callable[[O], object]) -> O:
        """Changes an object; retries on conflicts."""
        obj = await self.client.get(kind, name)
        change(obj)
        return await self.client.update(obj)

    async def events(self, reason: str) -> list[str]:
        found = await self.client.list(core.Event)
        return sorted(event.message or "" for event in found if event.reason == reason)


@pytest.fixture
def plans() -> Plans:
    return Plans()


@pytest.fixture
def nodes() -> int:
    return 1


@pytest_asyncio.fixture
async def world(plans: Plans, nodes: int) -> AsyncIterator[World]:
    clock = VirtualClock()
    settings = Workloads(plan=plans, nodes=nodes)
    async with (
        Cluster(clock=clock, seed=7, workloads=settings) as cluster,
        cluster.client(namespace="default") as client,
    ):
        yield World(cluster, clock, plans, client)


def template(image: str = "nginx:1", **spec: Any) -> core.PodTemplateSpec:
    return core.PodTemplateSpec(
        metadata=meta.ObjectMeta(labels=dict(LABELS)),
        spec=core.PodSpec(containers=[core.Container(name="main", image=image)], **spec),
    )


def a_deployment(name: str = "web", image: str = "nginx:1", **spec: Any) -> apps.Deployment:
    selector = meta.LabelSelector(match_labels=dict(LABELS))
    made = apps.DeploymentSpec(selector=selector, template=template(image), **spec)
    return apps.Deployment(metadata=meta.ObjectMeta(name=name), spec=made)


def a_stateful_set(name: str = "web", image: str = "nginx:1", **spec: Any) -> apps.StatefulSet:
    selector = meta.LabelSelector(match_labels=dict(LABELS))
    made = apps.StatefulSetSpec(selector=selector, service_name=name, template=template(image), **spec)
    return apps.StatefulSet(metadata=meta.ObjectMeta(name=name), spec=made)


def a_daemon_set(name: str = "agent", image: str = "nginx:1", **spec: Any) -> apps.DaemonSet:
    selector = meta.LabelSelector(match_labels=dict(LABELS))
    made = apps.DaemonSetSpec(selector=selector, template=template(image), **spec)
    return apps.DaemonSet(metadata=meta.ObjectMeta(name=name), spec=made)


def a_job(name: str = "work", image: str = "job:1", restart: str = "Never", **spec: Any) -> batch.Job:
    pod = core.PodSpec(containers=[core.Container(name="main", image=image)], restart_policy=restart)
    made = batch.JobSpec(template=core.PodTemplateSpec(spec=pod), **spec)
    return batch.Job(metadata=meta.ObjectMeta(name=name), spec=made)


def conditions(obj: Any) -> dict[str, tuple[str, str | None]]:
    """Returns status and reason by type."""
    return {each.type: (each.status, each.reason) for each in obj.status.conditions or ()}
