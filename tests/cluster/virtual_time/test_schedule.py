"""The schedule test of a new user: virtual time, plain webhook handlers over TLS, plain reconcilers, faults.

Virtual time and real threads and sockets must agree in every run, so each test runs a few times.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

import kubewright as kw
from kubewright.api import batch, is_condition_true, meta
from kubewright.client import Client, Invalid, MergePatch
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from tests.cluster.virtual_time.backups import BackupSchedule, BackupSpec, bucket, operator

HOUR = 3600.0
TIMES = 3

pytestmark = pytest.mark.parametrize("time", range(TIMES))


class MemoryBucket:
    """What the operator put into its bucket."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def put(self, name: str) -> None:
        self.names.append(name)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def stored() -> MemoryBucket:
    return MemoryBucket()


@pytest.fixture
async def cluster(clock: VirtualClock) -> AsyncIterator[Cluster]:
    async with Cluster(clock=clock, workloads=True) as cluster:
        yield cluster


@pytest.fixture
async def running(cluster: Cluster, clock: VirtualClock, stored: MemoryBucket) -> AsyncIterator[kw.Running]:
    async with operator.running(cluster, clock=clock, replace=[bucket.replaced_by(stored)]) as running:
        yield running


@pytest.fixture
def client(cluster: Cluster, running: kw.Running) -> Client:
    return cluster.client(namespace="default")


def schedule(name: str = "nightly", *, minutes: int = 0, database: str = "users") -> BackupSchedule:
    spec = BackupSpec(every_minutes=minutes, database=database)
    return BackupSchedule(metadata=meta.ObjectMeta(name=name), spec=spec)


async def finished(client: Client) -> int:
    jobs = await client.list(batch.Job)
    return sum(is_condition_true(job.status, "Complete") for job in jobs)


async def test_runs_every_hour_for_a_day(
    client: Client, clock: VirtualClock, running: kw.Running, stored: MemoryBucket, time: int
) -> None:
    made = await client.create(schedule())
    assert made.spec.every_minutes == 60, "the webhook filled it in"
    await running.settled()
    assert stored.names == ["nightly-1"]
    for _ in range(24):
        await clock.advance(HOUR)
    await running.settled()
    assert len(stored.names) == 25
    assert await finished(client) == 24, "the last one has just begun"
    last = (await client.get(BackupSchedule, "nightly")).status.last
    assert last is not None
    assert clock.now() - last < timedelta(minutes=1)


async def test_rejects_schedules_without_a_database_or_with_another_one(client: Client, time: int) -> None:
    with pytest.raises(Invalid, match=r"spec\.database: Required value"):
        await client.create(schedule(database=""))
    await client.create(schedule())
    with pytest.raises(Invalid, match=r"spec\.database: Forbidden: cannot be changed"):
        await client.patch(BackupSchedule, "nightly", MergePatch({"spec": {"database": "orders"}}))


async def test_survives_faults_of_the_cluster(
    cluster: Cluster, client: Client, clock: VirtualClock, running: kw.Running, stored: MemoryBucket, time: int
) -> None:
    cluster.lab.fail(verb="apply", kind=batch.Job, status=500, times=2)
    cluster.lab.fail(verb="patch", kind=BackupSchedule, subresource="status", status="lost", committed=True, nth=2)
    for number in range(5):
        await client.create(schedule(f"s{number}", minutes=30))

    async def each_has_run_twice() -> bool:
        return all(found.status.runs >= 2 for found in await client.list(BackupSchedule))

    await clock.advance_until(each_has_run_twice, limit=2 * HOUR)
    await running.settled()
    assert {f"s{number}-{run}" for number in range(5) for run in (1, 2)} <= set(stored.names)
    await clock.advance_until(lambda: len(set(stored.names)) >= 20, limit=2 * HOUR)


async def test_a_month_of_schedules_is_quick(
    client: Client, clock: VirtualClock, running: kw.Running, stored: MemoryBucket, time: int
) -> None:
    await client.create(schedule(minutes=24 * 60))
    await running.settled()
    await clock.advance(30 * 24 * HOUR)
    await running.settled()
    assert len(stored.names) == 31
