"""The embedded cluster as a command, beside kube-apiserver with etcd: one client loads both over HTTPS."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measure import Failed, Process, parse_memory
from benchmarks.programs import ROOT
from benchmarks.results import Case, Column
from kubewright.testing import ControlPlane

__all__ = ["run"]

_OURS, _REAL = "kubewright", "kube-apiserver"
_PATIENCE = 1800.0
_GRACE = 30.0


def run(objects: int, watchers: int, rounds: int, say: Callable[[str], None]) -> Iterator[Case]:
    """Starts each server, turn by turn, and loads it."""
    start = Case("server-start", "A server from its start until it is ready", _REAL, [Column("milliseconds", "ms", 0)])
    creates = Case(
        "server-creates",
        f"{objects} objects of 2 KB, created over HTTPS",
        _REAL,
        [Column("per_second", "creates/s", 0)],
    )
    lists = Case(
        "server-lists",
        f"List {objects} objects over HTTPS",
        _REAL,
        [Column("milliseconds", "ms", 0), Column("per_second", "lists/s", 2)],
    )
    fan_out = Case(
        "server-fan-out", f"One write to {watchers} watchers over HTTPS", _REAL, [Column("milliseconds", "ms", 0)]
    )
    memory = Case(
        "server-memory", f"Memory of the embedded server with {objects} objects", _OURS, [Column("megabytes", "MB", 0)]
    )
    for turn in range(rounds):
        for name, server in ((_OURS, _embedded), (_REAL, _real)):
            say(f"servers, round {turn + 1} of {rounds}: {name}")
            began = time.perf_counter()
            with server() as (kubeconfig, pid):
                start.add(name, {"milliseconds": (time.perf_counter() - began) * 1000})
                _load(kubeconfig, objects, watchers, name, (creates, lists, fan_out))
                if pid is not None:
                    status = Path(f"/proc/{pid}/status").read_text()
                    memory.add(name, {"megabytes": parse_memory(status, "VmRSS")})
    yield from (start, creates, lists, fan_out, memory)


def _load(kubeconfig: Path, objects: int, watchers: int, name: str, cases: tuple[Case, ...]) -> None:
    sizes = ["--objects", str(objects), "--watchers", str(watchers)]
    command = [sys.executable, "-m", "benchmarks.peers.server_load", "--kubeconfig", str(kubeconfig), *sizes]
    with Process(command, cwd=ROOT) as process:
        for case, event in zip(cases, ("creates", "lists", "fan-out"), strict=True):
            said, _ = process.wait_for(event, patience=_PATIENCE)
            case.add(name, {column.name: said[column.name] for column in case.columns})


@contextmanager
def _embedded() -> Iterator[tuple[Path, int | None]]:
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        options = ["--controllers", "none", "--write-kubeconfig", str(kubeconfig)]
        command = [sys.executable, "-m", "kubewright", "cluster", "start", *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                if "is ready at" not in server.stdout.readline():
                    raise Failed("kubewright cluster start did not say that it is ready")
                yield kubeconfig, server.pid
            finally:
                server.terminate()
                server.wait(_GRACE)


@contextmanager
def _real() -> Iterator[tuple[Path, int | None]]:
    with ControlPlane() as plane:
        yield plane.kubeconfig, None
