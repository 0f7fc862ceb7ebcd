"""Replicas of an operator: one works, the others are ready to. On both clusters, except where nothing runs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from kubewright.api import core, meta
from kubewright.api.coordination.v1 import Lease
from kubewright.client import Client, ClientConfig, MergePatch
from kubewright.cluster import Cluster
from kubewright.controller import Context
from kubewright.election import NotLeader
from kubewright.operator import Operator, Running, SettingError, Settings
from kubewright.operator._leadership import make_elector  # private: the elector of settings, without running it
from kubewright.testing import RealCluster
from tests.operator.conftest import events, find, settled
from tests.patience import PATIENCE, until

pytestmark = pytest.mark.clusters


def config_map(namespace: str, name: str = "one") -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace=namespace))


@pytest.fixture
def operator(namespace: str) -> Operator:
    """Its replicas mark every ConfigMap that they have seen to."""
    made = Operator(
        "replicated",
        namespaces=[namespace],
        leader_elect=True,
        lease_namespace=namespace,
        lease_duration="45s",  # no lease expires, even on a stalled machine
        renew_deadline="30s",
        retry_period="500ms",
    )

    @made.reconciles(core.ConfigMap)
    async def mark(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None:
        obj.data = {"seen": "yes"}
        await ctx.update(obj)
        ctx.record("Marked", "it was seen")

    return made


@contextlib.asynccontextmanager
async def replica(operator: Operator, cluster: Cluster | RealCluster) -> AsyncIterator[Running]:
    """One more, with connections of its own."""
    async with cluster.client() as client, operator.running(client, install_crds=False) as running:
        yield running


async def marked(client: Client, namespace: str, name: str) -> None:
    async def check() -> bool:
        found = await find(client, core.ConfigMap, name, namespace)
        return found is not None and found.data == {"seen": "yes"}

    await until(check)


async def taken_away(client: Client, namespace: str, by: str = "another-replica") -> None:
    """Another holder writes itself into the Lease."""
    spec = {"holderIdentity": by, "acquireTime": "2030-01-01T00:00:00.000000Z"}
    await client.patch(Lease, "replicated", MergePatch({"spec": spec}), namespace)


@pytest.mark.promise("Running an operator", "One replica works, and the next takes over with warm caches.")
async def test_one_replica_works_and_the_next_takes_over_with_warm_caches(
    operator: Operator, cluster: Cluster | RealCluster, client: Client, namespace: str
) -> None:
    async with contextlib.AsyncExitStack() as second_stack:
        async with replica(operator, cluster) as first:
            await first.wait_for_leadership()
            second = await second_stack.enter_async_context(replica(operator, cluster))
            made = await client.create(config_map(namespace))
            await marked(client, namespace, "one")
            assert (first.is_leader, second.is_leader) == (True, False)
            await until(lambda: _has(second, made))
            assert second.controllers[0].stats.reconciles.total() == 0
            assert len(second.controllers[0].queue) == 0, "a standby gathers no keys"
        lease = await client.get(Lease, "replicated", namespace)
        assert lease.spec is not None
        await second.wait_for_leadership()
        await client.create(config_map(namespace, "two"))
        await marked(client, namespace, "two")
        await settled(second)
        assert second.controllers[0].stats.reconciles["success"] >= 2, "it went through what was there already, too"
    logged = await events(client, namespace, "LeaderElection")
    assert {(event.message or "").split()[1] for event in logged} == {"became", "stopped"}
    assert {event.involved_object.uid for event in logged} == {lease.metadata.uid}, "kubectl describe asks for it"


async def _has(running: Running, obj: core.ConfigMap) -> bool:
    lister = running.controllers[0]._informer.lister
    return lister.snapshot((obj.metadata.namespace, obj.metadata.name)) is not None


@pytest.mark.promise("Running an operator", "A replica that stops gives its lease back, after its last event.")
async def test_stopping_replica_releases_lease_after_its_last_event(
    operator: Operator, cluster: Cluster | RealCluster, client: Client, namespace: str
) -> None:
    async with replica(operator, cluster) as running:
        await running.wait_for_leadership()
        await client.create(config_map(namespace))
        await marked(client, namespace, "one")
    lease = await client.get(Lease, "replicated", namespace)
    assert lease.spec is not None
    assert not lease.spec.holder_identity
    assert await events(client, namespace, "Marked"), "what was recorded last was written while it still led"


@pytest.mark.promise(
    "Running an operator",
    "A lost lease ends the work at once; nothing is begun, written or retried any more.",
)
async def test_lost_lease_stops_work_and_all_writes(
    operator: Operator, cluster: Cluster | RealCluster, client: Client, namespace: str
) -> None:
    entered, let_go = asyncio.Event(), asyncio.Event()
    logged: list[str] = []

    @operator.reconciles(core.Secret)
    async def wait(obj: core.Secret, ctx: Context[core.Secret]) -> None:
        entered.set()
        try:
            await let_go.wait()
        finally:
            logged.append("interrupted" if not let_go.is_set() else "finished")

    await client.create(core.Secret(metadata=meta.ObjectMeta(name="s", namespace=namespace)))
    async with replica(operator, cluster) as running:
        await running.wait_for_leadership()
        await entered.wait()
        await taken_away(client, namespace)
        with pytest.raises(
            NotLeader, match=f"the leadership of {namespace}/replicated was lost: another-replica holds"
        ):
            await running.wait_for_failure()
        await until(lambda: _is(logged == ["interrupted"]))
        assert not running.is_leader
        with pytest.raises(NotLeader, match="create configmaps"):
            await running.client.create(config_map(namespace, "late"))
        assert await running.client.list(core.ConfigMap, namespace) is not None, "reads need no leadership"
        await client.create(config_map(namespace, "after"))
    unmarked = await client.get(core.ConfigMap, "after", namespace)
    assert not unmarked.data
    lease = await client.get(Lease, "replicated", namespace)
    assert lease.spec is not None
    assert lease.spec.holder_identity == "another-replica", "the lease of another replica is not released"


@pytest.mark.promise("What happens when", "A process that has lost its lease ends, whatever hangs in it.")
async def test_hanging_component_does_not_hide_lost_lease(
    operator: Operator, cluster: Cluster | RealCluster, client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    @contextlib.asynccontextmanager
    async def stubborn(running: Running) -> AsyncIterator[None]:
        yield
        await asyncio.Event().wait()

    operator.attach(stubborn, stage="leader")
    async with cluster.client() as own, operator.running(own, install_crds=False, grace=0.1) as running:
        await running.wait_for_leadership()
        await until(lambda: _is(bool(running.controllers[0]._tasks)))
        await taken_away(client, namespace)
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(NotLeader, match="was lost: another-replica holds"):
                await running.wait_for_failure()
    assert "the components of the leader did not end within 100ms" in caplog.text


async def _is(truth: bool) -> bool:
    return truth


async def test_works_immediately_without_election(client: Client, namespace: str) -> None:
    operator = Operator("alone", namespaces=[namespace])

    @operator.reconciles(core.ConfigMap)
    async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None: ...

    async with operator.running(client, install_crds=False) as running:
        await running.wait_for_leadership()
        assert running.is_leader
        assert running.elector is None


async def test_standby_can_be_stopped(
    operator: Operator, cluster: Cluster | RealCluster, client: Client, namespace: str
) -> None:
    async with replica(operator, cluster) as first:
        await first.wait_for_leadership()
        async with replica(operator, cluster) as second:
            assert not second.is_leader
        assert first.is_leader


# Whether to stand, and where


def elect(settings: Settings, config: ClientConfig) -> tuple[str, str] | None:
    client = Client(config)
    elector = make_elector(settings, client, "mine", on_event=lambda _: None, clock=None, rng=None)
    return None if elector is None else (elector.namespace, elector.name)


POD = ClientConfig(server="https://10.0.0.1", namespace="shop", source="in-cluster")
LAPTOP = ClientConfig(server="https://10.0.0.1", namespace="work", source="~/.kube/config")


@pytest.mark.promise(
    "Running an operator",
    "A pod stands for election by itself; elsewhere the namespace of the Lease must be said.",
)
async def test_election_in_a_pod_uses_its_name_and_namespace() -> None:
    assert elect(Settings(), POD) == ("shop", "mine")


@pytest.mark.promise(
    "Running an operator",
    "A pod stands for election by itself; elsewhere the namespace of the Lease must be said.",
)
async def test_election_is_disabled_outside_of_a_pod_by_default() -> None:
    assert elect(Settings(), LAPTOP) is None
    assert elect(Settings(leader_elect=True, lease_namespace="there", lease_name="that"), LAPTOP) == ("there", "that")
    assert elect(Settings(leader_elect=False), POD) is None


@pytest.mark.promise(
    "Running an operator",
    "A pod stands for election by itself; elsewhere the namespace of the Lease must be said.",
)
async def test_election_outside_of_a_pod_requires_lease_namespace() -> None:
    with pytest.raises(SettingError, match=r"needs a namespace for its Lease.*--lease-namespace, KUBEWRIGHT_LEASE_NAM"):
        elect(Settings(leader_elect=True), LAPTOP)


async def test_rejects_inconsistent_election_times() -> None:
    with pytest.raises(SettingError, match=r"renew_deadline \(20s\) must be shorter than lease_duration"):
        elect(Settings(renew_deadline=20.0), POD)
