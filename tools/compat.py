"""Runs the tests that depend on the API server on other versions: `make compat VERSIONS="1.34 1.35 1.37"`.

For each version it builds and caches the control plane of the release in `RELEASES`, and runs the tests of the client,
the runtime, webhooks, CRDs and examples that need a real server. It prints a row for the table in
docs/compatibility.md. Arguments after `--` go to pytest.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from kubewright.testing import SetupError
from kubewright.testing.binaries import KUBERNETES_VERSION

ROOT: Final = Path(__file__).parents[1]
TESTS: Final = ("tests/client", "tests/controller", "tests/operator", "tests/webhook", "tests/crd", "examples")
"""Tests whose result depends on the server. Those of the embedded cluster compare it with the pinned version only."""


RELEASES: Final = {"1.34": "1.34.10", "1.35": "1.35.8", "1.36": KUBERNETES_VERSION, "1.37": "1.37.1"}
"""The newest release of each minor version that Go's proxy provided on 2026-11-19.

A table, because not every module proxy lists versions, and because the same command must test the same releases.
"""


def release_of(version: str) -> str:
    """Returns the recorded release of a minor version, `1.35.8` for `1.35`. A full version is returned as it is.

    Raises SetupError for another string, and for a minor version without a recorded release.
    """
    if re.fullmatch(r"1\.\d+\.\d+", version):
        return version
    if not re.fullmatch(r"1\.\d+", version):
        raise SetupError(f"{version!r} is not a version of Kubernetes; expected 1.35 or 1.35.4")
    if version not in RELEASES:
        known = ", ".join(RELEASES)
        raise SetupError(
            f"no release of Kubernetes {version} is recorded; name one, such as {version}.0, or use {known}"
        )
    return RELEASES[version]


def row(version: str, report: Path) -> str:
    """Returns the row of the table for a finished run, from its JUnit report."""
    suites = ElementTree.parse(report).getroot().iter("testsuite")
    totals = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for suite in suites:
        for name in totals:
            totals[name] += int(suite.get(name, "0"))
    failed = totals["failures"] + totals["errors"]
    passed = totals["tests"] - failed - totals["skipped"]
    return f"| {version} | {passed} | {failed} | {totals['skipped']} |"


def compare(version: str, arguments: list[str]) -> tuple[str, int]:
    """Builds a version, and runs the tests on it. Returns its row and pytest's exit code."""
    environment = os.environ | {"KUBEWRIGHT_KUBERNETES_VERSION": version}
    subprocess.run([sys.executable, "-m", "kubewright", "controlplane", "setup"], env=environment, check=True)
    paths = [] if any(Path(one.partition("::")[0]).exists() for one in arguments) else [*TESTS]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", "control_plane and not browser", f"--junitxml={report}"]
        done = subprocess.run([*command, *paths, *arguments], cwd=ROOT, env=environment, check=False)
        return row(version, report), done.returncode


def parsed(words: list[str]) -> tuple[list[str], list[str]]:
    """Returns the versions, and the arguments for pytest after `--`. argparse would take the latter for versions."""
    end = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description="Run tests on other versions of Kubernetes.")
    parser.add_argument("versions", nargs="+", metavar="VERSION")
    return parser.parse_args(words[:end]).versions, words[end + 1 :]


def main() -> int:
    """Runs all versions; fails if a test fails on one of them."""
    versions, arguments = parsed(sys.argv[1:])
    rows, failed = [], False
    for version in versions:
        try:
            made, code = compare(release_of(version), arguments)
        except (SetupError, subprocess.CalledProcessError) as error:
            made, code = f"| {version} | not built: {error} | | |", 1
        rows.append(made)
        failed |= code != 0
    print("\n".join(("| Kubernetes | passed | failed | skipped |", "|---|---|---|---|", *rows)))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
