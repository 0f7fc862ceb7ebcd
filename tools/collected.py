"""Guards the number of tests: it shrinks only with a reason.

    python -m tools.collected                          # fails if tests/collected.toml does not match the suite
    python -m tools.collected --update                 # records new tests
    python -m tools.collected --update --reason TEXT   # records that there are fewer, and why

Every test belongs to one tier. `make test` runs the tier `plain`, which needs nothing but Python; `make test-all` adds
`control_plane` (a real kube-apiserver), `postgres` (a PostgreSQL server) and `browser` (Chromium).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tomllib
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
RECORD: Final = ROOT / "tests" / "collected.toml"
TIERS: Final = ("plain", "control_plane", "postgres", "browser")


class Shrunk(ValueError):
    """A tier has fewer tests than recorded, and no reason was given."""


class _Counter:
    """A plugin of pytest that counts the collected tests of each tier."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(TIERS, 0)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            self.counts[tier_of({marker.name for marker in item.iter_markers()})] += 1


def tier_of(markers: Container[str]) -> str:
    """Returns the tier of a test: the most demanding of its markers."""
    return next((tier for tier in ("browser", "control_plane", "postgres") if tier in markers), "plain")


def collected() -> dict[str, int]:
    """Returns how many tests of each tier pytest collects."""
    counter, output = _Counter(), io.StringIO()
    with contextlib.redirect_stdout(output):
        code = pytest.main(["--collect-only", "-q", "--rootdir", str(ROOT), str(ROOT)], plugins=[counter])
    if code:
        raise RuntimeError(f"pytest could not collect the tests:\n{output.getvalue()[-2000:]}")
    return counter.counts


def recorded(now: Mapping[str, int], before: Mapping[str, int], reason: str | None) -> str:
    """Returns the lines to add to the record. Raises `Shrunk` for fewer tests without a reason."""
    fewer = {tier: (before[tier], now[tier]) for tier in before if now[tier] < before[tier]}
    if fewer and not reason:
        lost = ", ".join(f"{tier}: {old} -> {new}" for tier, (old, new) in fewer.items())
        raise Shrunk(f'there are fewer tests than recorded ({lost}); say why: --update --reason "..."')
    return "".join(
        f'\n[[fewer]]\ntier = "{tier}"\nfrom = {old}\nto = {new}\nreason = "{reason}"\n'
        for tier, (old, new) in fewer.items()
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.collected")
    parser.add_argument("--update", action="store_true", help="record the number of tests")
    parser.add_argument("--reason", help="why there are fewer tests than before")
    options = parser.parse_args(arguments)
    text = RECORD.read_text(encoding="utf-8")
    before = tomllib.loads(text)["tests"]
    now = collected()
    if now == before:
        return 0
    if not options.update:
        print(f"collected {now}, recorded {before}; run: python -m tools.collected --update", file=sys.stderr)
        return 1
    try:
        added = recorded(now, before, options.reason)
    except Shrunk as error:
        print(error, file=sys.stderr)
        return 1
    for tier, number in now.items():
        if tier in before:
            text = text.replace(f"{tier} = {before[tier]}", f"{tier} = {number}", 1)
        else:
            text = text.replace("[tests]\n", f"[tests]\n{tier} = {number}\n", 1)
    RECORD.write_text(text + added, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
