"""The tests of a project: pytest, with the project's modules and the clusters that they need."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from kubewright.scaffold import RECORD, ScaffoldError, project_folder

__all__ = ["TestClusters", "has_pytest", "run_tests"]

TestClusters: TypeAlias = Literal["embedded", "real", "both"]
_CLUSTERS: Final[dict[TestClusters, tuple[str, ...]]] = {
    "embedded": ("embedded",),
    "real": ("real",),
    "both": ("embedded", "real"),
}


def has_pytest() -> bool:
    """Whether pytest is installed beside us."""
    return importlib.util.find_spec("pytest") is not None


def run_tests(folder: Path, clusters: TestClusters, arguments: Sequence[str]) -> int:
    """Run pytest on each of the clusters, from this folder. The first exit code that is not 0, or 0.

    The modules of the project can be imported, also from tests that are in another folder of it. Where no argument
    names a file or folder, all tests of the project are meant, from whichever folder of it. The real control plane is
    there already. Raises `ScaffoldError` where `project_folder` does, and outside of a project if no argument names a
    file or folder: pytest would collect the whole folder.
    """
    found = project_folder(folder)
    named = any((folder / each.partition("::")[0]).exists() for each in arguments if not each.startswith("-"))
    if found is None and not named:
        raise ScaffoldError(
            f"there is no {RECORD} in {folder}, nor in a folder above it, so it is not known which tests are meant: run"
            " this in a project, or name the tests, such as `kubewright test tests/`"
        )
    root = found or folder
    if arguments and folder != root and not named:
        tests = root / "tests"
        arguments = [*arguments, str(tests if tests.is_dir() else root)]
    path = os.pathsep.join(each for each in (str(root), os.environ.get("PYTHONPATH", "")) if each)
    ended = 0
    for cluster in _CLUSTERS[clusters]:
        # -P, since the folder may be the package's: Python would take the project's operator.py for its own.
        command = [sys.executable, "-P", "-m", "pytest", f"--cluster={cluster}", *arguments]
        where = folder if arguments else root
        code = _run(command, where, {**os.environ, "PYTHONPATH": path})
        ended = ended or code
    return ended


def _run(command: Sequence[str], folder: Path, environ: dict[str, str]) -> int:
    with subprocess.Popen(command, cwd=folder, env=environ) as process:
        while True:
            # Ctrl-C reaches pytest as well, which then says what it has done so far.
            with contextlib.suppress(KeyboardInterrupt):
                return process.wait()
