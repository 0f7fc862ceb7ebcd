"""Interpreters for `make test-pythons`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.pythons import interpreters, version_of


def python(folder: Path, name: str, answer: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{answer}\n")
    (folder / name).chmod(0o755)
    return folder / name


@pytest.fixture(autouse=True)
def _no_other_interpreters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))


def test_finds_interpreters_on_path_and_in_pyenv(tmp_path: Path) -> None:
    on_path = python(tmp_path / "bin", "python3.11", "echo 3.11.7")
    python(tmp_path / "pyenv" / "versions" / "3.13.0" / "bin", "python", "echo 3.13.0")
    newer = python(tmp_path / "pyenv" / "versions" / "3.13.1" / "bin", "python", "echo 3.13.1")
    assert interpreters() == {"3.11": on_path, "3.13": newer}


def test_leaves_out_shims_that_do_not_run_and_other_versions(tmp_path: Path) -> None:
    python(tmp_path / "bin", "python3.12", "echo not installed >&2; exit 127")
    python(tmp_path / "bin", "python3.13", "echo 3.10.1")
    python(tmp_path / "bin", "python3.10", "echo 3.10.1")
    assert interpreters() == {}


def test_reports_the_version_of_an_interpreter(tmp_path: Path) -> None:
    assert version_of(Path(sys.executable)) == "{}.{}.{}".format(*sys.version_info[:3])
    assert version_of(tmp_path / "missing") is None
