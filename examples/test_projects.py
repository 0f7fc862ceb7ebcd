"""Each example is a complete project with current manifests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent
PROJECTS = ("foo", "memcached", "network", "password", "testresource")


@pytest.mark.parametrize("project", PROJECTS)
def test_the_manifests_are_what_the_program_says(project: str) -> None:
    command = [
        sys.executable,
        "-m",
        "kubewright.cli",
        "manifests",
        f"{project}.py",
        "--package",
        "kustomize",
        "--check",
    ]
    ended = subprocess.run(command, cwd=EXAMPLES / project, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("project", PROJECTS)
def test_each_program_fits_on_two_screens(project: str) -> None:
    """Only operators are measured, not tests and demos."""
    for program in (EXAMPLES / project).glob("*.py"):
        if not program.name.startswith("test_") and program.name not in ("neutron_server.py", "demo.py"):
            assert len(program.read_text().splitlines()) <= 140, program.name


@pytest.mark.parametrize("project", PROJECTS)
def test_each_project_has_a_readme_and_a_sample(project: str) -> None:
    assert (EXAMPLES / project / "README.md").is_file()
    assert list((EXAMPLES / project).glob("example-*.yaml"))


def test_a_copy_of_a_project_runs_its_own_tests(tmp_path: Path) -> None:
    """A project needs nothing of this repository except the package."""
    copy = shutil.copytree(EXAMPLES / "foo", tmp_path / "foo", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pytest", "-q", "--cluster", "embedded", "-p", "no:cacheprovider"]
    command += ["-k", "test_creates_deployment_status_and_event"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ended = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "2 passed" in ended.stdout
