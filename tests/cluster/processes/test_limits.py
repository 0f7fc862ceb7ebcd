"""Limits: memory is limited by measuring it; a reserved address is not memory that is used."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubewright.client import Client
from kubewright.cluster.processes import ProcessNode, measures_memory, memory_excess
from tests.cluster.processes.conftest import event, phase, pod

MIB = 2**20


@contextmanager
def running(program: str) -> Iterator[int]:
    """Yields the ID of a Python program that has printed a line and waits."""
    command = [sys.executable, "-c", f"{program}\nprint('up', flush=True)\nimport sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        yield process.pid
        process.communicate()


def test_reserved_memory_is_not_used_memory() -> None:
    reserving = "import mmap; m = mmap.mmap(-1, 1 << 32, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)"
    with running(reserving) as pid:
        assert memory_excess(pid, 64 * MIB) is None


def test_counts_shared_pages_of_child_processes_once() -> None:
    # Children of another thread than the main one count, too.
    forking = """
import os, threading
data = b"x" * (100 << 20)
def fork():
    for _ in range(4):
        read, write = os.pipe()
        if os.fork() == 0:
            os.close(write)
            os.read(read, 1)
            os._exit(0)
thread = threading.Thread(target=fork)
thread.start()
thread.join()
"""
    with running(forking) as pid:
        assert memory_excess(pid, 250 * MIB) is None
        used = memory_excess(pid, 90 * MIB)
        assert used is not None
        assert 100 * MIB < used < 250 * MIB


def test_counts_memory_of_child_processes() -> None:
    forking = """
import os
for _ in range(3):
    started, start = os.pipe()
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(write)
        data = b"x" * (50 << 20)
        os.write(start, b"1")
        os.read(read, 1)
        os._exit(0)
    os.read(started, 1)
"""
    with running(forking) as pid:
        used = memory_excess(pid, 140 * MIB)
        assert used is not None
        assert used > 150 * MIB


def test_process_that_has_ended_uses_no_memory() -> None:
    assert memory_excess(2**30, 0) is None


def test_memory_is_not_measured_without_linux(tmp_path: Path) -> None:
    assert measures_memory()
    assert not measures_memory(str(tmp_path))


@pytest.mark.clusters
@pytest.mark.promise("Pods as processes", "A container that uses more memory than its limit is killed (OOMKilled).")
async def test_container_that_exceeds_its_memory_limit_is_killed(client: Client, node: ProcessNode) -> None:
    program = "data = b'x' * (200 << 20); import signal; signal.pause()"
    greedy = {"image": "python", "args": [program], "resources": {"limits": {"memory": "64Mi"}}}
    await client.create(pod("greedy", greedy, restartPolicy="Never"))
    got = await phase(client, "greedy", "Failed")
    state = (got.status.container_statuses or [])[0].state
    assert state is not None
    assert state.terminated is not None
    assert (state.terminated.exit_code, state.terminated.reason) == (137, "OOMKilled")
    message = await event(client, "greedy", "OOMKilled")
    used = re.fullmatch(r"Container c0 uses ([0-9.]+)Mi of memory, and its limit is 64Mi", message)
    assert used is not None  # measured while the program allocates its memory
    assert float(used[1]) > 64


@pytest.mark.clusters("embedded")
async def test_container_within_its_memory_limit_runs(client: Client, node: ProcessNode) -> None:
    modest = {"args": ["exit 0"], "resources": {"limits": {"memory": "64Mi"}}}
    await client.create(pod("modest", modest, restartPolicy="Never"))
    got = await phase(client, "modest", "Succeeded", "Failed")
    assert got.status.phase == "Succeeded"
