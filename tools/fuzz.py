"""Fuzzes each target for its share of the time: `make fuzz MINUTES=10`.

Each target runs in a child process with limited memory. Inputs that reach new code are kept in `.fuzz/<target>`, for
the next run. A finding is saved in `tests/fuzz/corpus/<target>`, where `tests/fuzz/test_corpus.py` replays it, and
fails this command.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Fuzz all targets, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="for all targets together")
    parser.add_argument("--target", action="append", choices=[*TARGETS], help="only this one; may be given again")
    arguments = parser.parse_args()
    chosen = arguments.target or [*TARGETS]
    seconds = max(1, int(arguments.minutes * 60 / len(chosen)))
    failed = [name for name in chosen if not fuzz(name, seconds)]
    for name in chosen:
        print(f"{name}: {'FINDING, see tests/fuzz/corpus/' + name if name in failed else 'no finding'}")
    sys.exit(1 if failed else 0)


def fuzz(name: str, seconds: int) -> bool:
    """Fuzz one target. Whether it found nothing."""
    found, kept = ROOT / "tests" / "fuzz" / "corpus" / name, ROOT / ".fuzz" / name
    kept.mkdir(parents=True, exist_ok=True)
    print(f"== {name}, {seconds} s", flush=True)
    command = [
        sys.executable, "-m", "tests.fuzz.run", name,
        f"-max_total_time={seconds}", "-rss_limit_mb=2048", "-timeout=30", "-max_len=65536", "-print_final_stats=1",
        f"-artifact_prefix={found}/", "-verbosity=0", str(kept), str(found),
    ]  # fmt: skip
    return subprocess.run(command, cwd=ROOT, check=False, timeout=seconds + 300).returncode == 0


if __name__ == "__main__":
    main()
