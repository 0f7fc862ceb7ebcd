"""`python -m benchmarks [SUITE] [options]`: measure, print, write the JSON. The suites are in `_SUITES`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import embedded, generating, listing, reconciling, servers, webhooks
from benchmarks.load import Load
from benchmarks.machine import describe
from benchmarks.measure import Failed
from benchmarks.programs import ROOT, Program, list_programs, operator_programs
from benchmarks.report import case_table, heading
from benchmarks.results import Case, Results
from kubewright.testing import KUBERNETES_VERSION, ControlPlane, ControlPlaneError

_SUITES = ("listing", "reconciling", "generating", "embedded", "servers", "webhooks")


def main() -> None:
    """Runs the requested benchmarks. A slow result is not a failure; a program that fails is."""
    arguments = _arguments()
    results = Results(
        machine=describe(),
        kubernetes=KUBERNETES_VERSION,
        settings={name: value for name, value in vars(arguments).items() if isinstance(value, int)},
    )
    try:
        for case in _run(arguments, results):
            results.cases.append(case)
            print(f"\n{case_table(case)}\n", flush=True)
    except (Failed, ControlPlaneError) as error:
        sys.exit(f"benchmarks: {error}")
    finally:
        if results.cases:
            print(heading(results))
            print(f"written to {results.write(arguments.results)}")


def _run(arguments: argparse.Namespace, results: Results) -> Iterator[Case]:
    start = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - start:5.0f} s] {text}", file=sys.stderr, flush=True)

    if arguments.suite in (None, "listing"):
        programs = _only(list_programs(), arguments.only, results)
        with ControlPlane() as plane:
            yield from listing.run(
                plane.kubeconfig,
                programs,
                foos=arguments.foos,
                pods=arguments.pods,
                rounds=arguments.rounds,
                say=say,
            )
    if arguments.suite in (None, "reconciling"):
        programs = _only(operator_programs(), arguments.only, results)
        sizes = reconciling.Sizes(
            objects=arguments.foos,
            work=arguments.work,
            writes=arguments.writes,
            many=arguments.many,
            rounds=arguments.rounds,
        )
        # A server of its own: it has neither the memory nor the objects of the other suite.
        with ControlPlane() as plane:
            Load(plane.kubeconfig).install()
            yield from reconciling.run(plane.kubeconfig, programs, sizes, say)
    if arguments.suite in (None, "generating"):
        yield from generating.run(arguments.rounds, say)
    if arguments.suite in (None, "embedded"):
        yield from embedded.run(arguments.foos, arguments.rounds, arguments.endurance, say)
    if arguments.suite in (None, "servers"):
        yield from servers.run(arguments.foos, arguments.watchers, arguments.rounds, say)
    if arguments.suite in (None, "webhooks"):
        yield from webhooks.run(arguments.reviews, arguments.rounds, say)


def _only(programs: list[Program], names: list[str] | None, results: Results) -> list[Program]:
    chosen = [program for program in programs if not names or program.name in names]
    results.programs.update({program.name: program.version for program in chosen})
    return chosen


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Kubewright beside its peers.")
    parser.add_argument("suite", nargs="?", choices=_SUITES, help="all unless named")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each program (default 3)")
    parser.add_argument("--foos", type=int, default=10_000, help="custom resources (default 10000)")
    parser.add_argument("--pods", type=int, default=5_000, help="pods (default 5000)")
    parser.add_argument("--work", type=int, default=3_000, help="objects of the work load (default 3000)")
    parser.add_argument(
        "--writes", type=int, default=1_000, help="changes of which the latency is taken (default 1000)"
    )
    parser.add_argument("--watchers", type=int, default=1_000, help="watchers of each server (default 1000)")
    parser.add_argument("--many", type=int, default=0, help="objects of the large case, say 50000 (default: left out)")
    parser.add_argument("--reviews", type=int, default=5_000, help="reviews of each webhook (default 5000)")
    parser.add_argument(
        "--endurance", type=int, default=1_000_000, help="writes to one embedded cluster (default 1000000; 0: none)"
    )
    parser.add_argument("--only", action="append", metavar="PROGRAM", help="only this program; may be repeated")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results", help="where the JSON goes")
    arguments = parser.parse_args()
    arguments.writes = min(arguments.writes, arguments.foos)  # each object is changed once
    return arguments


if __name__ == "__main__":
    main()
