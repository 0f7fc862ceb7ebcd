"""The full run: every generated request on both servers. See the README of the folder above."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from kubewright.testing import ControlPlane
from tests.cluster.differential.generated.cases import cases
from tests.cluster.differential.generated.known import FILE, grown, known, shortened, shrunk, written
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
    parser.add_argument("--kind", action="append", default=[], help="only this kind, such as v1/pods; may be repeated")
    arguments = parser.parse_args()
    chosen = [case for case in cases() if not arguments.kind or case.kind in arguments.kind]
    with ControlPlane() as plane:
        found = asyncio.run(on_both(plane, chosen))
    if arguments.report:
        arguments.report.write_text(_report(found))
    before, ran = known(), {case.kind for case in chosen}
    print(f"{found.requests} requests, {found.equal} equal, {len(found.causes)} causes of differences")
    if arguments.update:
        before = shortened(found, before, ran)
        FILE.write_text(written(before))
    more, less = grown(found, before), shrunk(found, before, ran)
    print("\n".join(["not in the list of known differences:", *more]) if more else "no new difference")
    if less:
        print("\n".join(["gone; shorten the list with UPDATE=1:", *less]))
    return 1 if more or less else 0


if __name__ == "__main__":
    sys.exit(main())
