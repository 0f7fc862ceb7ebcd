"""`World`: an embedded cluster with planned pods under virtual time, a simulated Patroni, and the operator."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from postgres_operator.kinds import CONFIGURATION_NAME, Configuration, OperatorConfiguration, Postgresql, State
from postgres_operator.operator import engine, operator
from postgres_operator.simulated import SimulatedEngine

import kubewright as kw
from kubewright.api import apps, core, from_yaml, meta, policy, rbac, storage
from kubewright.client import Client, MergePatch
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.nodes import PodPlan
from kubewright.cluster.workloads import Workloads

NAMESPACE = "default"
MANIFESTS = Path(__file__).with_name("manifests")


def minimal(name: str = "acid-minimal-cluster", **spec: Any) -> Postgresql:
    """Returns the minimal cluster, with changes of its spec."""
    cluster = from_yaml(Postgresql, (MANIFESTS / "minimal.yaml").read_text())
    cluster.metadata.name, cluster.metadata.namespace = name, NAMESPACE
    for field_name, value in spec.items():
        setattr(cluster.spec, field_name, value)
    return cluster


@dataclass
class World:
    """Everything around an operator."""

    cluster: Cluster
    clock: VirtualClock
    client: Client
    engine: SimulatedEngine = field(default_factory=lambda: SimulatedEngine({}))
    broken: set[str] = field(default_factory=set)
    """Images that cannot be pulled."""

    def plan(self, pod: core.Pod) -> PodPlan:
        """Returns what a pod does."""
        broken = pod.spec.containers[0].image in self.broken
        return PodPlan(image_missing=True) if broken else PodPlan(ready_delay=3)

    def operator(self, **options: Any) -> kw.Running:
        """Returns a run of the operator as its own user, with the simulated engine."""
        client = self.cluster.client_as("operator", "system:masters")
        return operator.running(client, clock=self.clock, replace=[engine.replaced_by(self.engine)], **options)

    async def configure(self, configuration: Configuration) -> None:
        """Creates or changes the OperatorConfiguration."""
        metadata = meta.ObjectMeta(name=CONFIGURATION_NAME, namespace=NAMESPACE)
        await self.client.apply(
            OperatorConfiguration(metadata=metadata, configuration=configuration), field_manager="admin"
        )

    async def get(self, name: str = "acid-minimal-cluster") -> Postgresql:
        return await self.client.get(Postgresql, name, NAMESPACE)

    async def patch(self, change: dict[str, Any], name: str = "acid-minimal-cluster") -> Postgresql:
        return await self.client.patch(Postgresql, name, MergePatch(change), NAMESPACE)

    async def until(self, condition: Callable[[Postgresql], bool], name: str = "acid-minimal-cluster") -> Postgresql:
        """Moves the clock until the cluster meets the condition."""
        found: list[Postgresql] = []

        async def met() -> bool:
            found[:] = [await self.get(name)]
            return condition(found[0])

        await self.clock.advance_until(met, limit=3600)
        return found[0]

    async def until_state(self, state: State, name: str = "acid-minimal-cluster") -> Postgresql:
        """Moves the clock until the status of the current spec has that state."""
        return await self.until(
            lambda found: found.status.state is state and found.status.observed_generation == found.metadata.generation,
            name,
        )

    async def pods(self, name: str = "acid-minimal-cluster") -> list[core.Pod]:
        return list(await self.client.list(core.Pod, NAMESPACE, labels={"cluster-name": name}))

    async def events(self, reason: str) -> list[str]:
        """Returns the messages of the events with a reason."""
        await self.clock.advance(2)  # events are written in the background
        return [
            event.message or "" async for event in self.client.list(core.Event, NAMESPACE) if event.reason == reason
        ]


@contextlib.asynccontextmanager
async def new_world(controllers: Collection[str] | None = None, **settings: Any) -> AsyncIterator[World]:
    """Starts a cluster whose volumes can grow, with the simulated Patroni. `controllers`: as in `Workloads`."""
    clock = VirtualClock()
    worlds: list[World] = []
    workloads = Workloads(nodes=1, heartbeat=None, controllers=controllers, plan=lambda pod: worlds[0].plan(pod))
    async with Cluster(clock=clock, workloads=workloads, seed=1, **settings) as cluster, cluster.client() as client:
        world = World(cluster, clock, client)
        worlds.append(world)
        await client.create(
            storage.StorageClass(
                metadata=meta.ObjectMeta(name="growing"),
                provisioner="example.com/disks",
                allow_volume_expansion=True,
            )
        )
        async with world.engine.operator().running(cluster.client_as("patroni", "system:masters"), clock=clock):
            yield world


async def content(world: World) -> dict[str, Any]:
    """Returns what matters of a cluster, without values that differ from run to run."""
    cluster = await world.get()
    suffix = f"{cluster.metadata.name}.credentials.postgresql.acid.zalan.do"
    secrets = {one.metadata.name: one async for one in world.client.list(core.Secret, NAMESPACE)}
    [database] = world.engine.databases
    for user, password in database.passwords.items():
        if password is not None:  # what the Secret says is what the database accepts
            assert (secrets[f"{user.replace('_', '-')}.{suffix}"].data or {})["password"].decode() == password
    assert (secrets[f"postgres.{suffix}"].data or {})["password"].decode() == database.superuser
    children = {
        (kind.__name__, one.metadata.name)
        for kind in (apps.StatefulSet, core.Service, core.ServiceAccount, rbac.Role, policy.PodDisruptionBudget)
        async for one in world.client.list(kind, NAMESPACE)
    }
    return {
        "state": cluster.status.state,
        "instances": cluster.status.number_of_instances,
        "secrets": sorted(secrets),
        "children": children,
        "databases": database.databases,
        "roles": sorted(database.passwords),
        "images": {pod.spec.containers[0].image for pod in await world.pods()},
    }


async def created(world: World, **spec: Any) -> None:
    """Creates the minimal cluster and waits until it runs."""
    await world.client.create(minimal(**spec))
    await world.until_state(State.RUNNING)
