"""Faults: the supervisor is killed, the node is restarted, the API server rejects what the node writes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from kubewright.api import core
from kubewright.client import Client
from kubewright.cluster.processes import ProcessNode
from tests.cluster.processes.conftest import StartNode, is_ready, log, phase, pod, wait
from tests.full_disk import no_file_larger_than
from tests.patience import until

FORKING = """
import os, signal
if os.fork() == 0:
    os.setsid()
print(os.getpid(), flush=True)
while True:
    signal.pause()
"""


# The daemon has an empty environment, also in /proc.
WITH_DAEMON = """
import os, signal, sys
program = "import os, signal; print(os.getpid(), flush=True); signal.pause()"
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, ["daemon", "-c", program], {})
    os._exit(0)
os.wait()
print(os.getpid(), flush=True)
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
    await client.create(pod("later", {"args": ["exec sleep 1000"]}))
    later = await wait(client, "later", is_ready)
    networks = [ip_network(f"{one.status.pod_ip}/22", strict=False) for one in (got, later)]
    assert networks[0] == networks[1], "the network of the former node is not claimed any more"


@pytest.mark.clusters("embedded")
async def test_forced_deletion_kills_the_processes(client: Client, node: ProcessNode) -> None:
    await client.create(pod("forced", {"image": "python", "args": [FORKING]}))
    await wait(client, "forced", is_ready)
    before = await two_pids(client, "forced")
    await client.delete(core.Pod, "forced", grace_period_seconds=0)
    await until(lambda: not any(map(lives, before)), "the end of the processes")


@pytest.mark.clusters("embedded")
async def test_daemons_end_with_their_container(client: Client, node: ProcessNode, namespace: str) -> None:
    await client.create(pod("daemon", {"image": "python", "args": [WITH_DAEMON]}))
    await client.create(pod("neighbor", {"image": "python", "args": [WITH_DAEMON]}))
    for name in ("daemon", "neighbor"):
        await wait(client, name, is_ready)
    before, others = await two_pids(client, "daemon"), await two_pids(client, "neighbor")
    await node.restart("daemon", namespace)
    await wait(client, "daemon", lambda it: (it.status.container_statuses or [])[0].restart_count == 1)
    await until(lambda: not any(map(lives, before)), "the end of the killed processes")
    await client.delete(core.Pod, "daemon", grace_period_seconds=0)
    assert all(map(lives, others))


@pytest.mark.clusters("embedded")
async def test_pod_that_is_deleted_while_its_program_starts_ends_in_order(
    client: Client, node: ProcessNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = sys.modules["kubewright.cluster.processes._container"]  # private: the moment between two of its steps
    start, stop = worker.Launcher.start, worker.ContainerWorker.stop
    stopping = asyncio.Event()

    async def slow_start(*arguments: Any) -> Any:
        launched = await start(*arguments)
        await stopping.wait()
        return launched

    async def early_stop(*arguments: Any, **options: Any) -> None:
        stopping.set()
        await stop(*arguments, **options)

    monkeypatch.setattr(worker.Launcher, "start", slow_start)
    monkeypatch.setattr(worker.ContainerWorker, "stop", early_stop)
    trace = tmp_path / "trace"
    container = {
        "args": [f"trap 'echo term >>{trace}; exit 0' TERM; echo up >>{trace}; while :; do sleep 0.05; done"],
        "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", f"echo hook >>{trace}"]}}},
    }
    await client.create(pod("brief", container, terminationGracePeriodSeconds=100_000))
    await until(lambda: trace.exists() and "up" in trace.read_text())
    await client.delete(core.Pod, "brief")
    await client.wait_until_gone(core.Pod, "brief")
    assert trace.read_text().split() == ["up", "hook", "term"]


PRINTING = """
for number in range(1000):
    print(f"{number:0100}")
open("/dev/termination-log", "w").write("printed everything")
"""


@pytest.mark.clusters("embedded")
@pytest.mark.skipif(os.getuid() != 0, reason="mount namespaces need root or bubblewrap")
@pytest.mark.promise("Pods as processes", "A full disk loses lines of logs, and stops neither pods nor nodes.")
async def test_full_disk_loses_lines_of_logs_only(client: Client, node: ProcessNode) -> None:
    printing = {"image": "python", "args": [PRINTING]}
    with no_file_larger_than(8192):
        await client.create(pod("printing", printing, restartPolicy="Never"))
        ended = await phase(client, "printing", "Succeeded", "Failed")
        await client.create(pod("other", {}))
        await wait(client, "other", is_ready)
    state = (ended.status.container_statuses or [])[0].state
    assert state is not None
    assert state.terminated is not None
    assert state.terminated.message == "printed everything"
    lines = await log(client, "printing")
    assert 0 < len(lines) < 1000
    await client.create(pod("later", printing, restartPolicy="Never"))
    await phase(client, "later", "Succeeded")
    assert len(await log(client, "later")) == 1000


@pytest.mark.clusters("embedded")
async def test_starts_and_ends_200_pods(client: Client, node: ProcessNode) -> None:
    for number in range(200):
        await client.create(pod(f"pod-{number}", {}))

    async def ready() -> bool:
        return all(map(is_ready, await client.list(core.Pod)))

    await until(ready, "200 pods", every=0.5)
    addresses = {each.status.pod_ip for each in await client.list(core.Pod)}
    assert len(addresses) == 200
    await client.delete_collection(core.Pod)

    async def gone() -> bool:
        return not [*await client.list(core.Pod)]

    await until(gone, "the end of 200 pods", every=0.5)


def _parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().split()[3])
