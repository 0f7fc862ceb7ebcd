"""The first suite: listing objects with a client, and what merely starting it costs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.load import Load
from benchmarks.measure import Failed, Process
from benchmarks.programs import OURS, ROOT, Program, in_turn
from benchmarks.results import Case, Column

__all__ = ["PAGE_SIZE", "run"]

PAGE_SIZE = 500

_LIST_COLUMNS = [
    Column("seconds", "time s", 2),
    Column("cpu", "CPU s", 2),
    Column("memory", "memory MB"),
    Column("peak", "peak MB"),
]
_START_COLUMNS = [
    Column("seconds", "time s", 2),
    Column("cpu", "CPU s", 2),
    Column("memory", "memory MB"),
    Column("import_ms", "import ms"),
]
_TIME_IMPORT = "import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"


def run(
    kubeconfig: Path, programs: list[Program], *, foos: int, pods: int, rounds: int, say: Callable[[str], None]
) -> Iterator[Case]:
    """Fill the server and let the clients list it, turn by turn. Gives each case as it is complete."""
    load = Load(kubeconfig)
    say(f"making {foos} custom resources and {pods} pods")
    load.install()
    load.fill_foos("listing-foos", foos)
    load.fill_pods("listing-pods", pods)
    start = Case("start", "Import, connect and list the namespaces, from the start of Python", OURS, _START_COLUMNS)
    custom = Case("list-foos", f"List {foos} custom resources of 2 KB", OURS, _LIST_COLUMNS)
    typed = Case("list-pods", f"List {pods} pods as typed objects", OURS, _LIST_COLUMNS)
    for case, kind, count in ((custom, "foos", foos), (typed, "pods", pods)):
        say("warming the server's caches")
        _turn(programs[0], kubeconfig, kind, count)
        for turn in range(rounds):
            for program in in_turn(programs, turn):
                say(f"{case.name}, round {turn + 1} of {rounds}: {program.name}")
                ready, listed = _turn(program, kubeconfig, kind, count)
                ready["import_ms"] = _import_seconds(program.name) * 1000
                start.add(program.name, ready)
                case.add(program.name, listed)
    yield from (start, custom, typed)


def _turn(program: Program, kubeconfig: Path, kind: str, count: int) -> tuple[dict[str, float], dict[str, float]]:
    """What the program needs until it is at work, and what the list needs after that."""
    arguments = ("--kubeconfig", str(kubeconfig), "--kind", kind, "--page-size", str(PAGE_SIZE))
    with Process([*program.command, *arguments], cwd=ROOT) as process:
        _, ready = process.wait_for("ready")
        process.go()
        said, after = process.wait_for("listed")
        process.go()
    if said["count"] != count:
        raise Failed(f"{program.name} has listed {said['count']} {kind} instead of {count}")
    return (
        {"seconds": ready.wall, "cpu": ready.cpu, "memory": ready.memory},
        {
            "seconds": after.wall - ready.wall,
            "cpu": after.cpu - ready.cpu,
            "memory": after.memory,
            "peak": after.peak,
        },
    )


def _import_seconds(module: str) -> float:
    command = [sys.executable, "-c", _TIME_IMPORT.format(module=module)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
