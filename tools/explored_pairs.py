"""Explores the broken and corrected operators in `tests/explore/pairs`, and prints what was found.

    python -m tools.explored_pairs --minutes 3 crash_two_steps stale_members

Fails if a broken operator has no finding, or a corrected one has any. The test suite runs only the plan that shows each
bug; this is the whole exploration.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from kubewright.explore import ExploreError, run_exploration

PAIRS = Path(__file__).parents[1] / "tests" / "explore" / "pairs"


def main() -> int:
    """Explores pairs. Returns the number of wrong verdicts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="*", help="names of pairs; default: all")
    parser.add_argument("--folder", type=Path, default=PAIRS)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--budget", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    wrong = 0
    for name in given.pairs or sorted(path.stem for path in given.folder.glob("*.yaml")):
        for variant in ("broken", "correct"):
            begin = time.monotonic()
            target, sample = f"{given.folder / name}.py:{variant}", given.folder / f"{name}.yaml"
            try:
                report = run_exploration(
                    target, [sample], minutes=given.minutes, runs=given.budget, workers=given.workers
                )
            except ExploreError as error:
                print(f"{name:28} {variant:8} ERROR {error}", flush=True)
                wrong += 1
                continue
            verdict = "ok" if bool(report.findings) is (variant == "broken") else "WRONG"
            wrong += verdict == "WRONG"
            oracles = ", ".join(finding.oracle for finding in report.findings) or "-"
            seconds = time.monotonic() - begin
            print(f"{name:28} {variant:8} {verdict:6} {report.runs:5} runs {seconds:5.0f} s  {oracles}", flush=True)
            if verdict == "WRONG":
                for finding in report.findings:
                    print("   ", finding.summary, *finding.story, sep="\n      ")
    return min(wrong, 100)


if __name__ == "__main__":
    sys.exit(main())
