"""`kubewright test`: pytest with the project's modules, on the clusters that are asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kubewright.cli import run
from kubewright.development import has_pytest
from kubewright.scaffold import carry_out, new_project
from tests.patience import PATIENCE

TESTS = """
import pytest

import guestbook


@pytest.mark.clusters
def test_where(cluster_kind: str) -> None:
    print("on", cluster_kind, guestbook.operator.name)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    carry_out(new_project("guestbook", "my.domain"), tmp_path)
    (tmp_path / "tests" / "test_where.py").write_text(TESTS)
    return tmp_path


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "kubewright", "test", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE)


@pytest.mark.promise(
    "Development",
    "`kubewright test` runs a project's tests from any folder of it, on both clusters, and ends as pytest does.",
)
def test_the_projects_tests_find_its_modules_from_any_folder_of_it(project: Path) -> None:
    done = ran(project / "tests", "-s", "test_where.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "on embedded guestbook" in done.stdout
    done = ran(project / "guestbook", "-s", "-q", "-k", "where")  # where there are no tests, and a module `operator`
    assert (done.returncode, "on embedded guestbook" in done.stdout) == (0, True), done.stdout + done.stderr


@pytest.mark.control_plane
@pytest.mark.promise(
    "Development",
    "`kubewright test` runs a project's tests from any folder of it, on both clusters, and ends as pytest does.",
)
def test_both_clusters_are_tried_and_one_failure_is_a_failure(project: Path) -> None:
    test = project / "tests" / "test_where.py"
    test.write_text(f"{TESTS}    assert cluster_kind == 'real'\n")
    done = ran(project, "--cluster", "both", "-s", "-q", "-k", "where")
    assert done.returncode == 1, done.stdout + done.stderr
    said = [line for line in ("on embedded guestbook", "on real guestbook") if line in done.stdout]
    assert said == ["on embedded guestbook", "on real guestbook"]
    assert "1 failed" in done.stdout
    assert "1 passed" in done.stdout


@pytest.mark.promise(
    "Development",
    "`kubewright test` runs a project's tests from any folder of it, on both clusters, and ends as pytest does.",
)
def test_it_ends_as_pytest_does(project: Path) -> None:
    misspelled = ran(project, "--no-such-option")
    assert misspelled.returncode == 4
    assert "unrecognized arguments: --no-such-option" in misspelled.stderr


def test_a_cluster_that_there_is_not_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["test", "--cluster", "imaginary"]) == 2
    assert "'imaginary' is not one of 'embedded', 'real', 'both'" in capsys.readouterr().err


def test_a_missing_pytest_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert has_pytest()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert run(["test"]) == 1
    expected = "Error: pytest is not installed: pip install pytest pytest-asyncio\n"
    assert capsys.readouterr().err == expected


def test_outside_of_a_project_the_tests_must_be_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_other.py").write_text("def test_other() -> None:\n    pass\n")
    for arguments in ([], ["-q"], ["-k", "other"]):
        done = ran(tmp_path, *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"there is no kubewright.toml in {tmp_path}, nor in a folder above it" in done.stderr
        assert "name the tests, such as `kubewright test tests/`" in done.stderr
    assert ran(tmp_path, "test_other.py").returncode == 0
