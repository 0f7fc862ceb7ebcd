"""Runs the tests of a project with pytest."""

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
    """Whether pytest is installed."""
    return importlib.util.find_spec("pytest") is not None


def run_tests(folder: Path, clusters: TestClusters, arguments: Sequence[str]) -> int:
    """Runs pytest on each of the clusters. Returns the first exit code that is not 0, or 0.

    The modules of the project can be imported from tests in all its folders. If no argument names a file or folder, all
    tests of the project run, from any of its folders. The real control plane must be installed. Raises `ScaffoldError`
    like `project_folder`, and outside of a project if no argument names a file or folder: pytest would collect the
    whole folder.
    """
    found = project_folder(folder)
    named = any((folder / each.partition("::")[0]).exists() for each in arguments if not each.startswith("-"))
    if found is None and not named:
        raise ScaffoldError(
            f"there is no {RECORD} in {folder}, nor in a folder above it, so there is no project to test: run this in"
            " a project, or name the tests, such as `kubewright test tests/`"
        )
    root = found or folder
    if arguments and folder != root and not named:
        tests = root / "tests"
        arguments = [*arguments, str(tests if tests.is_dir() else root)]
    path = os.pathsep.join(each for each in (str(root), os.environ.get("PYTHONPATH", "")) if each)
    ended = 0
    for cluster in _CLUSTERS[clusters]:
        # -P, because the folder may be the package: Python would import the project's operator.py as the standard
        # module.
        command = [sys.executable, "-P", "-m", "pytest", f"--cluster={cluster}", *arguments]
        where = folder if arguments else root
        code = _run(command, where, {**os.environ, "PYTHONPATH": path})
        ended = ended or code
    return ended


def _run(command: Sequence[str], folder: Path, environ: dict[str, str]) -> int:
    with subprocess.Popen(command, cwd=folder, env=environ) as process:
        while True:
            # Ctrl-C reaches pytest as well, which then prints its results so far.
            with contextlib.suppress(KeyboardInterrupt):
                return process.wait()
