"""The fourth suite: the embedded cluster, beside its goals."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from benchmarks.measure import Process
from benchmarks.programs import ROOT
from benchmarks.results import Case, Column

__all__ = ["run"]

_GOAL = "goal"
_OURS = "kubewright"
_EARLY, _LATE = "the second tenth", "the last tenth"
_TENTHS = 10
_PATIENCE = 1800.0


def run(objects: int, rounds: int, endurance: int, say: Callable[[str], None]) -> Iterator[Case]:
    """Let a process of its own measure itself, turn by turn; then another one, once, with as many writes as named."""
    start = _case("cluster-start", "Starting an empty embedded cluster", [Column("milliseconds", "ms")])
    rates = [Column("per_second", "creates/s", 0), Column("per_cpu_second", "creates per CPU second", 0)]
    inside = _case("cluster-in-process", f"{objects} objects of 2 KB, created in process", rates)
    http = _case("cluster-http", "The same over HTTPS, client and server in one process", rates)
    memory = _case("cluster-memory", f"Memory of the process with {objects} objects", [Column("megabytes", "MB")])
    few = _case("cluster-fan-out-few", "One write to a tenth as many watchers", [Column("microseconds", "µs for each")])
    many = _case("cluster-fan-out", f"One write to {objects} watchers", [Column("microseconds", "µs for each")])
    latency = _case(
        "cluster-latency",
        "From a write to its event, 500 writes/s",
        [Column("p50", "p50 ms", 2), Column("p99", "p99 ms", 2)],
    )
    for turn in range(rounds):
        say(f"embedded cluster, round {turn + 1} of {rounds}")
        command = [sys.executable, "-m", "benchmarks.peers.kubewright_cluster"]
        with Process([*command, "--objects", str(objects), "--watchers", str(objects)], cwd=ROOT) as process:
            process.wait_for("start")  # the first start also imports
            for case, event in (
                (start, "start"),
                (inside, "in-process"),
                (memory, "memory"),
                (http, "http"),
                (few, "fan-out"),
                (many, "fan-out"),
                (latency, "latency"),
            ):
                said, _ = process.wait_for(event)
                case.add(_OURS, {column.name: said[column.name] for column in case.columns})
    start.add(_GOAL, {"milliseconds": 50})
    inside.add(_GOAL, {"per_second": 3000, "per_cpu_second": 3000})
    http.add(_GOAL, {"per_second": 1000, "per_cpu_second": 1000})
    memory.add(_GOAL, {"megabytes": 100})
    latency.add(_GOAL, {"p50": 5, "p99": 5})
    yield from (start, inside, http, memory, few, many, latency)
    if endurance:
        yield _endurance(endurance, say)


def _endurance(writes: int, say: Callable[[str], None]) -> Case:
    """The last tenth of the writes beside the second: the first one also fills what is remembered."""
    title = f"{writes} writes to a thousand objects that come and go, in process"
    columns = [Column("per_cpu_second", "writes per CPU second", 0), Column("megabytes", "MB at its end")]
    case = Case("cluster-endurance", title, _EARLY, columns)
    command = [sys.executable, "-m", "benchmarks.peers.kubewright_endurance", "--writes", str(writes)]
    with Process(command, cwd=ROOT) as process:
        for tenth in range(1, _TENTHS + 1):
            said, _ = process.wait_for("tenth", patience=_PATIENCE)
            say(f"embedded cluster, {tenth} of {_TENTHS} tenths of {writes} writes")
            if tenth in (2, _TENTHS):
                case.add(_EARLY if tenth == 2 else _LATE, {column.name: said[column.name] for column in columns})
    return case


def _case(name: str, title: str, columns: list[Column]) -> Case:
    return Case(name, title, _GOAL, columns)
