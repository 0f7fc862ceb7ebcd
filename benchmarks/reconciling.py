"""The second suite: the same operator on three frameworks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.arithmetic import percentile
from benchmarks.load import Load
from benchmarks.measure import Process
from benchmarks.programs import CONTROLLER_RUNTIME, ROOT, Program, in_turn
from benchmarks.results import Case, Column

__all__ = ["Sizes", "run"]

_SETTLE_SECONDS = 5.0
_WORKERS = 10
_WRITES_PER_SECOND = 100.0

_FILL_COLUMNS = [
    Column("seconds", "time s", 2),
    Column("cpu", "CPU s", 2),
    Column("memory", "memory MB, settled"),
    Column("peak", "peak MB"),
]
_WORK_COLUMNS = [
    Column("objects_per_second", "objects/s", 0),
    Column("seconds", "time s", 2),
    Column("cpu", "CPU s", 2),
    Column("memory", "memory MB, settled"),
    Column("reconciles_per_object", "reconciles per object", 2),
]
_LATENCY_COLUMNS = [
    Column("p50", "p50 ms"),
    Column("p99", "p99 ms"),
    Column("write_p50", "the write alone: p50 ms"),
    Column("write_p99", "p99 ms"),
    Column("cpu", "CPU s", 2),
    Column("writes_per_second", "writes/s", 0),
]


@dataclass(frozen=True)
class Sizes:
    """How much there is to do."""

    objects: int
    work: int
    writes: int
    many: int
    """Objects of the large case; 0 leaves it out."""
    rounds: int


def run(kubeconfig: Path, programs: list[Program], sizes: Sizes, say: Callable[[str], None]) -> Iterator[Case]:
    """Let the operators work, turn by turn. Gives each case as it is complete. The kind must be installed."""
    suite = _Suite(kubeconfig, programs, sizes, say)
    yield from suite.reconcile_all_and_follow()
    yield suite.work()
    if sizes.many:
        yield suite.reconcile_many()


class _Suite:
    def __init__(self, kubeconfig: Path, programs: list[Program], sizes: Sizes, say: Callable[[str], None]) -> None:
        self._kubeconfig = kubeconfig
        self._programs = programs
        self._sizes = sizes
        self._say = say
        self._load = Load(kubeconfig)

    def reconcile_all_and_follow(self) -> Iterator[Case]:
        """Until each object was reconciled once; and then how long a change takes to be reconciled."""
        count, writes, namespace = self._sizes.objects, self._sizes.writes, "reconcile"
        fill = self._case("reconcile", f"{count} custom resources of 2 KB, each reconciled once", _FILL_COLUMNS)
        title = f"From a write to its reconcile, {_WRITES_PER_SECOND:g} writes/s among {count} objects"
        latency = self._case("latency", title, _LATENCY_COLUMNS)
        self._say(f"making {count} custom resources")
        self._load.fill_foos(namespace, count)
        self._load.write(namespace, writes, _WRITES_PER_SECOND)  # the server's first ones are slow
        self._warm(namespace, count)
        for program in self._turns("reconcile and latency", self._sizes.rounds):
            with self._start(program, namespace, count, "--writes", str(writes)) as process:
                fill.add(program.name, _settled(process))
                before = process.usage()
                written = self._load.write(namespace, writes, _WRITES_PER_SECOND)
                said, after = process.wait_for("latencies")
                numbers = {"cpu": after.cpu - before.cpu, "writes_per_second": written.rate}
                for percent in (50, 99):
                    numbers[f"p{percent}"] = percentile(said["milliseconds"], percent)
                    numbers[f"write_p{percent}"] = percentile(written.answered, percent)
                latency.add(program.name, numbers)
        yield fill
        yield latency
        self._load.clear(namespace)

    def work(self) -> Case:
        """A child and a status for each object. Each turn has objects of its own."""
        count = self._sizes.work
        title = f"{count} objects, a child and a status written for each, {_WORKERS} workers"
        case = self._case("work", title, _WORK_COLUMNS)
        for turn, program in enumerate(self._turns("work", self._sizes.rounds)):
            namespace = f"work-{turn}"
            self._load.fill_foos(namespace, count)
            with self._start(program, namespace, count, "--work") as process:
                case.add(program.name, _settled(process))
            self._load.clear(namespace)
        return case

    def reconcile_many(self) -> Case:
        """The first case again, larger."""
        count, namespace = self._sizes.many, "many"
        case = self._case("reconcile-many", f"{count} custom resources of 2 KB, each reconciled once", _FILL_COLUMNS)
        self._say(f"making {count} custom resources")
        self._load.fill_foos(namespace, count)
        self._warm(namespace, count)
        for program in self._turns("reconcile many", self._sizes.rounds):
            with self._start(program, namespace, count) as process:
                case.add(program.name, _settled(process))
        return case  # nothing is cleared: it is the last case, and the server would take minutes for it

    def _case(self, name: str, title: str, columns: list[Column]) -> Case:
        return Case(name, title, CONTROLLER_RUNTIME, columns)

    def _warm(self, namespace: str, count: int) -> None:
        """Let a program reconcile everything without being measured: who is first would pay for the server's caches."""
        self._say("warming the server's caches")
        with self._start(self._programs[0], namespace, count) as process:
            process.wait_for("first")
            process.wait_for("reconciled")

    def _turns(self, what: str, rounds: int) -> Iterator[Program]:
        for turn in range(rounds):
            for program in in_turn(self._programs, turn):
                self._say(f"{what}, round {turn + 1} of {rounds}: {program.name}")
                yield program

    def _start(self, program: Program, namespace: str, objects: int, *more: str) -> Process:
        arguments = ("--kubeconfig", str(self._kubeconfig), "--namespace", namespace, "--objects", str(objects))
        return Process([*program.command, *arguments, "--workers", str(_WORKERS), *more], cwd=ROOT)


def _settled(process: Process) -> dict[str, float]:
    """Time and CPU from the program's start until everything was reconciled, and the memory some seconds later.

    The rate leaves the start out: it counts from the beginning of the first reconcile to the end of the last.
    """
    _, first = process.wait_for("first")
    said, done = process.wait_for("reconciled")
    time.sleep(_SETTLE_SECONDS)
    settled = process.usage()
    return {
        "seconds": done.wall,
        "objects_per_second": said["count"] / (done.wall - first.wall),
        "cpu": done.cpu,
        "reconciles_per_object": said["reconciles"] / said["count"],
        "memory": settled.memory,
        "peak": settled.peak,
    }
