"""Elections on the real kube-apiserver: replicas that are killed and paused, and code that blocks."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from kubewright.api import ObjectMeta, parse_time
from kubewright.api.coordination.v1 import Lease
from kubewright.api.core.v1 import ConfigMap
from kubewright.client import Client, NotFound, load_config
from kubewright.clock import SystemClock
from kubewright.election import LeaderElector, NotLeader
from kubewright.testing import ControlPlane
from tests.election.replica import WAITED_FOR
from tests.patience import PATIENCE

PATIENT: dict[str, Any] = {"lease_duration": 45, "renew_deadline": 30, "retry_period": 0.5}
"""For leases that must not expire, even if the machine pauses for seconds."""


class Replica:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.heard: list[str] = []

    async def hears(self, line: str) -> None:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while not self.heard or self.heard[-1] != line:
                read = await self.process.stdout.readline()
                assert read, f"the replica ended after {self.heard}"
                self.heard.append(read.decode().strip())

    def says(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


@pytest.fixture
async def replica(control_plane: ControlPlane, namespace: str) -> AsyncIterator[Callable[[str], Any]]:
    started: list[asyncio.subprocess.Process] = []

    async def start(identity: str) -> Replica:
        program = Path(__file__).parent / "replica.py"
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(program),
            str(control_plane.kubeconfig),
            namespace,
            identity,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        started.append(process)
        return Replica(process)

    yield start
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def names(client: Client, namespace: str) -> set[str]:
    return {found.metadata.name for found in await client.list(ConfigMap, namespace)}


async def test_a_leader_that_is_killed_is_followed(replica: Any, client: Client, namespace: str) -> None:
    first = await replica("first")
    await first.hears("started first")
    second = await replica("second")
    await second.hears("observed first")
    first.signal(signal.SIGKILL)
    await second.hears("started second")
    second.says("write by-the-second")
    await second.hears("wrote by-the-second")
    lease = await client.get(Lease, "lead", namespace)
    assert lease.spec.holder_identity == "second"
    assert lease.spec.lease_transitions == 1
    assert lease.spec.lease_duration_seconds == WAITED_FOR["lease_duration"]


async def test_a_leader_that_ends_in_order_is_followed_without_waiting_for_its_lease(
    replica: Any, client: Client, namespace: str
) -> None:
    first = await replica("first")
    await first.hears("started first")
    first.process.stdin.close()
    await first.process.wait()
    lease = await client.get(Lease, "lead", namespace)
    assert lease.spec.holder_identity == ""
    second = await replica("second")
    await second.hears("started second")


async def test_a_leader_that_was_paused_past_its_lease_begins_no_write_when_it_wakes(
    replica: Any, client: Client, namespace: str
) -> None:
    first = await replica("first")
    await first.hears("started first")
    first.says("write before")
    await first.hears("wrote before")
    second = await replica("second")
    await second.hears("observed first")
    first.signal(signal.SIGSTOP)
    await second.hears("started second")
    second.says("write by-the-second")
    await second.hears("wrote by-the-second")
    # They are the first thing it finds when it wakes. The last one shows that it would have written.
    first.says(*(f"write after-{number}" for number in range(20)), "bare without-a-fence")
    first.signal(signal.SIGCONT)
    await first.hears("wrote without-a-fence")
    assert [line for line in first.heard if line.startswith("refused")] == [
        f"refused after-{number}" for number in range(20)
    ]
    assert await names(client, namespace) == {"before", "by-the-second", "without-a-fence"}
    first.process.stdin.close()
    await first.process.wait()
    assert (await client.get(Lease, "lead", namespace)).spec.holder_identity == "second"


# Code that blocks the event loop


def blocking_until(condition: Callable[[], bool]) -> None:
    """Block this thread, and with it the event loop, as a careless reconciler does."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)  # real: blocks the event loop on purpose


class LeaseOnServer:
    """Reads and writes the Lease without the event loop."""

    def __init__(self, control_plane: ControlPlane, namespace: str) -> None:
        self._plane = control_plane
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/lead"

    @property
    def spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self._plane.request("GET", self._path)["spec"]
        return spec

    @property
    def renewed_at(self) -> float:
        return parse_time(self.spec["renewTime"]).timestamp()

    def steal(self) -> None:
        while True:
            lease = self._plane.request("GET", self._path)
            lease["spec"] |= {"holderIdentity": "thief", "acquireTime": "2031-01-01T00:00:00.000000Z"}
            try:
                self._plane.request("PUT", self._path, lease)
            except Exception as error:
                if " 409 " not in str(error):
                    raise
            else:
                return

    def delete(self) -> None:
        self._plane.request("DELETE", self._path)


@pytest.fixture
def lease(control_plane: ControlPlane, namespace: str) -> LeaseOnServer:
    return LeaseOnServer(control_plane, namespace)


async def test_code_that_blocks_for_longer_than_the_lease_does_not_lose_it(
    client: Client, namespace: str, lease: LeaseOnServer
) -> None:
    elector = LeaderElector(client, "lead", namespace, **WAITED_FOR)
    rival = LeaderElector(client, "lead", namespace, **WAITED_FOR)
    assert elector.in_thread
    async with asyncio.timeout(PATIENCE), elector.lead() as leader, rival:
        began = lease.renewed_at
        blocking_until(lambda: lease.renewed_at > began + 2 * WAITED_FOR["lease_duration"])
        assert elector.is_leader
        assert not rival.is_leader
        await leader.create(ConfigMap(metadata=ObjectMeta(name="after-blocking", namespace=namespace)))
        assert lease.spec["leaseTransitions"] == 0
    assert await names(client, namespace) == {"after-blocking"}


async def test_lease_lost_while_code_blocks_prevents_writes(
    client: Client, namespace: str, lease: LeaseOnServer
) -> None:
    elector = LeaderElector(client, "lead", namespace, **PATIENT)
    refused: list[NotLeader] = []

    async def work() -> None:
        async with elector.lead() as leader:
            lease.steal()
            blocking_until(lambda: not elector.is_leader)
            try:
                await leader.create(ConfigMap(metadata=ObjectMeta(name="too-late", namespace=namespace)))
            except NotLeader as error:
                refused.append(error)
            await asyncio.Event().wait()  # until the loss is noticed here too

    async with asyncio.timeout(PATIENCE):
        with pytest.raises(NotLeader, match=f"the leadership of {namespace}/lead was lost: "):
            await work()
    assert "thief holds the lease now" in str(refused[0]) or "last renewed" in str(refused[0])
    assert await names(client, namespace) == set()
    assert lease.spec["holderIdentity"] == "thief"


async def test_a_lease_that_was_deleted_is_made_again_on_the_real_server_too(
    client: Client, namespace: str, lease: LeaseOnServer
) -> None:
    async with asyncio.timeout(PATIENCE):
        async with LeaderElector(client, "lead", namespace, **PATIENT) as elector:
            await elector.wait_for_leadership()
            lease.delete()
            while True:
                try:
                    spec = (await client.get(Lease, "lead", namespace)).spec
                except NotFound:
                    continue
                break
            assert spec.holder_identity == elector.identity
            assert elector.is_leader


async def test_a_client_factory_and_a_renewal_in_this_event_loop(
    control_plane: ControlPlane, client: Client, namespace: str
) -> None:
    made: list[Client] = []

    def factory() -> Client:
        made.append(Client(load_config(kubeconfig=control_plane.kubeconfig)))
        return made[-1]

    async with asyncio.timeout(PATIENCE):
        for in_thread in (True, False):
            elector = LeaderElector(
                client, "lead", namespace, renewal_client=factory, in_thread=in_thread, clock=SystemClock(), **PATIENT
            )
            async with elector:
                await elector.wait_for_leadership()
            assert (await client.get(Lease, "lead", namespace)).spec.holder_identity == ""
    assert len(made) == 2


async def test_failing_client_factory_raises_in_waiting_tasks(client: Client, namespace: str) -> None:
    def broken() -> Client:
        raise ValueError("no such file")

    async with asyncio.timeout(PATIENCE), LeaderElector(client, "lead", namespace, renewal_client=broken) as elector:
        with pytest.raises(NotLeader, match="is over: ValueError: no such file"):
            await elector.wait_for_leadership()


def test_a_program_that_is_gone_without_stopping_gives_the_lease_back(
    control_plane: ControlPlane, namespace: str, lease: LeaseOnServer
) -> None:
    """An event loop that is closed under an elector, as in a notebook."""
    loop = asyncio.new_event_loop()

    async def begin() -> LeaderElector:
        client = Client.connect(kubeconfig=control_plane.kubeconfig)
        elector = await LeaderElector(client, "lead", namespace, **PATIENT).__aenter__()
        await elector.wait_for_leadership()
        await client.close()
        return elector

    elector = loop.run_until_complete(begin())
    loop.close()
    assert lease.spec["holderIdentity"] == elector.identity
    blocking_until(lambda: lease.spec["holderIdentity"] == "")
