"""Faults: the supervisor is killed, the node is restarted, the API server rejects what the node writes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from kubewright.api import core
from kubewright.client import Client
from kubewright.cluster.processes import ProcessNode
from tests.cluster.processes.conftest import StartNode, is_ready, log, phase, pod, wait
from tests.patience import until

FORKING = """
import os, signal
if os.fork() == 0:
    os.setsid()
print(os.getpid(), flush=True)
while True:
    signal.pause()
"""


async def two_pids(client: Client, name: str) -> list[int]:
    async def found() -> list[int] | None:
        lines = await log(client, name)
        return [int(line) for line in lines] if len(lines) == 2 else None

    return await until(found, "two processes")


def lives(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


@pytest.mark.clusters("embedded")
async def test_pods_restart_after_their_supervisor_was_killed(client: Client, node: ProcessNode) -> None:
    await client.create(pod("forking", {"image": "python", "args": [FORKING]}))
    await wait(client, "forking", is_ready)
    before = await two_pids(client, "forking")
    supervisor = _parent_of(min(before))
    os.kill(supervisor, signal.SIGKILL)
    await wait(
        client, "forking", lambda it: (it.status.container_statuses or [])[0].restart_count == 1 and is_ready(it)
    )
    await until(lambda: not any(map(lives, before)), "the end of the old processes")
    assert set(await two_pids(client, "forking")).isdisjoint(before)


@pytest.mark.clusters
async def test_new_node_of_the_same_name_restarts_pods(client: Client, start_node: StartNode, namespace: str) -> None:
    node = await start_node()
    await client.create(pod("kept", {"args": ["echo $$$$; exec sleep 1000"]}))
    await client.create(pod("once", {"args": ["exec sleep 1000"]}, restartPolicy="Never"))
    await wait(client, "kept", is_ready)
    await wait(client, "once", is_ready)
    pid = int((await until(lambda: log(client, "kept")))[0])
    await node.__aexit__(None, None, None)
    assert not lives(pid)
    await start_node()
    got = await wait(
        client, "kept", lambda it: (it.status.container_statuses or [])[0].restart_count == 1 and is_ready(it)
    )
    last = (got.status.container_statuses or [])[0].last_state
    assert last is not None
    assert last.terminated is not None
    assert last.terminated.reason == "ContainerStatusUnknown"
    lost = await phase(client, "once", "Failed")
    assert (lost.status.container_statuses or [])[0].restart_count == 0


@pytest.mark.clusters("embedded")
async def test_forced_deletion_kills_the_processes(client: Client, node: ProcessNode) -> None:
    await client.create(pod("forced", {"image": "python", "args": [FORKING]}))
    await wait(client, "forced", is_ready)
    before = await two_pids(client, "forced")
    await client.delete(core.Pod, "forced", grace_period_seconds=0)
    await until(lambda: not any(map(lives, before)), "the end of the processes")


def _parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().split()[3])
