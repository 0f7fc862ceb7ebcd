"""The full run: every generated request on both servers. See the README of the folder above."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from kubewright.testing import ControlPlane
from tests.cluster.differential.generated.cases import cases
from tests.cluster.differential.generated.known import FILE, grown, known, shrunk, written
from tests.cluster.differential.generated.running import Findings, on_both


def _report(found: Findings) -> str:
    parts = []
    for cause, kinds in sorted(found.causes.items(), key=lambda entry: -entry[1].total()):
        name, example = found.examples[cause]
        parts.append(f"{kinds.total()}\t{cause}\n\t{dict(kinds.most_common(10))}\n\t{name}\n\t{example}")
    return "\n".join(parts) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare all generated requests on both servers.")
    parser.add_argument("--update", action="store_true", help="write a shorter list of differences; never a longer one")
    parser.add_argument("--report", type=Path, help="write every cause with an example to this file")
    arguments = parser.parse_args()
    with ControlPlane() as plane:
        found = asyncio.run(on_both(plane, cases()))
    if arguments.report:
        arguments.report.write_text(_report(found))
    before = known()
    more, less = grown(found, before), shrunk(found, before)
    print(f"{found.requests} requests, {found.equal} equal, {len(found.causes)} causes of differences")
    print("\n".join(["not in the list of known differences:", *more]) if more else "no new difference")
    if less and arguments.update and not more:
        FILE.write_text(written(found))
        print(f"the list is shorter by {len(less)} entries")
    elif less:
        print("\n".join(["gone; shorten the list with UPDATE=1:", *less]))
    return 1 if more or (less and not arguments.update) else 0


if __name__ == "__main__":
    sys.exit(main())
