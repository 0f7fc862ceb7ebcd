"""Leaders that are killed and paused. Each replica is a process, and a gateway of its own notes what it asks for."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kubewright.api import core
from kubewright.api.coordination.v1 import Lease
from kubewright.client import Client, MergePatch
from kubewright.testing import ControlPlane, Exchange
from tests.faults.replicas import LEASE, replicas
from tests.faults.toys import Toy, reconciled, toy
from tests.patience import until

pytestmark = pytest.mark.control_plane

NAMES = [f"t-{number}" for number in range(8)]


@pytest.fixture
async def replica(plane: ControlPlane, room: str, tmp_path: Path) -> AsyncIterator[Any]:
    async with replicas(plane, room, tmp_path) as start:
        yield start


async def written_by(admin: Client, room: str, word: str) -> None:
    """Wait until every child is the work of one replica."""

    async def check() -> bool:
        words = [(child.data or {}).get("word") for child in await admin.list(core.ConfigMap, room)]
        return words == [word] * len(NAMES)

    await until(check, f"the work of {word}")


async def the_lease(admin: Client, room: str) -> Lease:
    return await admin.get(Lease, "toys", room)


def lists(exchanges: list[Exchange]) -> int:
    """How often everything was read: as a stream or as a list."""
    reads = [seen for seen in exchanges if not seen.writes and seen.path.rsplit("/", 2)[1] != "leases"]
    whole = [seen for seen in reads if seen.path.endswith(("/toys", "/configmaps"))]
    return sum("sendInitialEvents=true" in seen.query or not seen.watches for seen in whole)


def periods(earlier: datetime | None, later: datetime | None) -> float:
    """How many lease periods lie between two times in Leases."""
    assert earlier is not None
    assert later is not None
    return (later - earlier) / timedelta(seconds=LEASE)


@pytest.mark.promise(
    "What happens when",
    "When the leader is killed, a standby with warm caches goes on within the lease time.",
)
async def test_a_standby_goes_on_within_the_lease_time_after_its_leader_was_killed(
    replica: Any, admin: Client, room: str
) -> None:
    first = await replica("first")
    for name in NAMES:
        await admin.create(toy(name, room))
    await written_by(admin, room, "first")
    second = await replica("second")
    await second.ready()
    assert lists(second.gateway.exchanges) == 2
    assert not any(seen.writes and "/leases" not in seen.path for seen in second.gateway.exchanges)

    first.signal(signal.SIGKILL)
    assert await first.end() == -signal.SIGKILL
    last = await the_lease(admin, room)
    await admin.patch(Toy, "t-0", MergePatch({"spec": {"size": 1}}), room)
    await written_by(admin, room, "second")
    await reconciled(admin, room, *NAMES)

    taken = await the_lease(admin, room)
    assert taken.spec.lease_transitions == (last.spec.lease_transitions or 0) + 1
    # Not before the lease of the dead was over, and before another one would have been.
    assert 1 <= periods(last.spec.renew_time, taken.spec.acquire_time) < 2
    assert lists(second.gateway.exchanges) == 2, "its caches were warm: nothing was read again"


@pytest.mark.promise(
    "What happens when",
    "A leader that was paused past its lease begins no write, not even an event, and ends with its own exit code.",
)
async def test_a_leader_that_was_paused_past_its_lease_begins_no_write_when_it_wakes(
    replica: Any, admin: Client, room: str
) -> None:
    first = await replica("first")
    for name in NAMES:
        await admin.create(toy(name, room))
    await written_by(admin, room, "first")
    second = await replica("second")
    await second.ready()

    # In the middle of reconciles: each of them has written the child, and has the status still to write. The answers,
    # and more work, wait in its connections when it wakes.
    begun: list[str] = []

    def pause(exchange: Exchange) -> None:
        if exchange.writes and "/configmaps/" in exchange.path:
            begun.append(exchange.path)
            if len(begun) == len(NAMES) // 2:
                os.kill(first.process.pid, signal.SIGSTOP)

    first.gateway.fault = pause
    for name in NAMES:
        await admin.patch(Toy, name, MergePatch({"spec": {"size": 5}}), room)
    await until(lambda: len(begun) >= len(NAMES) // 2, "the middle of its work")
    for name in NAMES:
        await admin.patch(Toy, name, MergePatch({"spec": {"size": 10}}), room)
    await written_by(admin, room, "second")
    await reconciled(admin, room, *NAMES)

    assert await first.wake_too_late() == []
    await written_by(admin, room, "second")
    assert "no longer leads" in first.log.read_text()
