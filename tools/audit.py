"""Looks up the locked dependencies in a database of known vulnerabilities: `python -m tools.audit requirements/*.lock`.

The database is OSV, which has the advisories of PyPI and of GitHub. Exits with 1 when a locked release has a known
vulnerability. Exits with 0 and a note of one line when the database cannot be reached: a check that needs the network
must not fail without one.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

DATABASE: Final = "https://api.osv.dev/v1/querybatch"
IGNORED: Final[Mapping[str, str]] = {}
"""Advisories that do not concern us, by id, each with the reason. Remove an entry with the release that fixes it."""

_LOCKED: Final = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^ ;\\]+)", re.MULTILINE)
_AT_ONCE: Final = 500
_SECONDS: Final = 20.0


class Locked(NamedTuple):
    """A release that a lock file names."""

    name: str
    version: str


class Unreachable(Exception):
    """The database gave no answer."""


def locked_in(files: Iterable[Path]) -> list[Locked]:
    """The releases in lock files, each once."""
    return sorted({Locked(*found) for file in files for found in _LOCKED.findall(file.read_text())})


def known_vulnerabilities(releases: Sequence[Locked], database: str = DATABASE) -> dict[Locked, list[str]]:
    """The ids of advisories by release. Raises `Unreachable`."""
    found: dict[Locked, list[str]] = {}
    for begin in range(0, len(releases), _AT_ONCE):
        some = releases[begin : begin + _AT_ONCE]
        queries = [{"package": {"name": name, "ecosystem": "PyPI"}, "version": version} for name, version in some]
        results = _ask(database, {"queries": queries}).get("results")
        if not isinstance(results, list) or len(results) != len(some):
            raise Unreachable("its answer does not have one result for each release")
        for release, result in zip(some, results, strict=True):
            ids = sorted({str(one["id"]) for one in (result or {}).get("vulns") or ()} - set(IGNORED))
            if ids:
                found[release] = ids
    return found


def _ask(database: str, question: Mapping[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(
        database, json.dumps(question).encode(), {"Content-Type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            found = json.load(answer)
    except (OSError, ValueError) as error:
        raise Unreachable(str(error) or type(error).__name__) from None
    if not isinstance(found, dict):
        raise Unreachable("its answer is not an object")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Audit lock files. The exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="LOCK")
    parser.add_argument("--database", default=DATABASE, help="the address of OSV's querybatch, or of a copy")
    given = parser.parse_args(arguments)
    releases = locked_in(given.files)
    try:
        found = known_vulnerabilities(releases, given.database)
    except Unreachable as why:
        print(f"audit skipped: the vulnerability database cannot be reached ({why})")
        return 0
    for release, ids in found.items():
        links = ", ".join(f"https://osv.dev/vulnerability/{one}" for one in ids)
        print(f"{release.name} {release.version} has known vulnerabilities: {links}", file=sys.stderr)
    if found:
        print("Upgrade them (make lock), or add the id and a reason to IGNORED in tools/audit.py.", file=sys.stderr)
        return 1
    print(f"audit: {len(releases)} locked releases have no known vulnerability")
    return 0


if __name__ == "__main__":
    sys.exit(main())
