"""Projects of every recorded version of the scaffold: after `kubewright upgrade`, `make test` passes."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kubewright.cli import run
from kubewright.scaffold import CURRENT, RECORD, Record, plan_upgrade, scaffolded, versions
from tools.scaffold_version import REFERENCE

pytestmark = pytest.mark.timeout(300)

EARLIER = [version for version in versions() if version < CURRENT]

MODULE = '''\
"""Written by the user, with names of its time."""

import kubewright as kw
from kubewright import Owned
from kubewright.api import core

OWNED = [kw.Owned(core.Secret), Owned(core.ConfigMap)]  # kw.Owned
'''
TEST = """\
from kubewright.controller import Owned

from guest_book.mine import OWNED


def test_mine() -> None:
    assert all(isinstance(each, Owned) for each in OWNED)
"""


def create_project(version: int, folder: Path) -> None:
    """Writes the reference project as `init` and `create` of that version wrote it."""
    record = replace(REFERENCE, scaffold=version, kubewright="0.1.0.dev0")
    files = {**scaffolded(REFERENCE, scaffold=version, kubewright="0.1.0.dev0"), RECORD: record.text()}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


@pytest.fixture(params=EARLIER)
def project(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of each earlier version, with a module and a test that the user has added."""
    folder = tmp_path / "guest-book"
    create_project(request.param, folder)
    (folder / "guest_book" / "mine.py").write_text(MODULE)
    (folder / "tests" / "test_mine.py").write_text(TEST)
    monkeypatch.chdir(folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Returns the content of each file of a project."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def tested() -> list[dict[str, bytes]]:
    """The projects whose tests have passed. An upgrade from another version may result in the same files."""
    return []


def make_test(folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs `make test` of the project, in this environment instead of one that it sets up."""
    (folder / ".setup").touch()
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": "-p no:cacheprovider -W error"}
    command = ["make", "test", f"PYTHON={sys.executable}"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.promise("Projects", "After `kubewright upgrade`, `make test` passes on projects of every earlier version.")
def test_tests_pass_after_an_upgrade(project: Path, tested: list[dict[str, bytes]]) -> None:
    assert run(["upgrade"]) == 0
    assert Record.read(project).scaffold == CURRENT
    assert not plan_upgrade(project).needed
    upgraded = contents(project)
    if upgraded in tested:
        return
    done = make_test(project)
    assert done.returncode == 0, done.stdout + done.stderr
    tested.append(upgraded)


@pytest.mark.promise("Projects", "`kubewright upgrade` rewrites renamed names of Kubewright in all Python files.")
def test_renamed_names_are_rewritten_in_files_of_the_user(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["upgrade"]) == 0
    assert "rewritten guest_book/mine.py: names that Kubewright has renamed\n" in capsys.readouterr().out
    text = (project / "guest_book" / "mine.py").read_text()
    assert "from kubewright import Owns\n" in text
    assert "OWNED = [kw.Owns(core.Secret), Owns(core.ConfigMap)]  # kw.Owned\n" in text
    assert "isinstance(each, Owns)" in (project / "tests" / "test_mine.py").read_text()


def test_a_renamed_name_in_a_scaffolded_file_is_not_a_conflict(project: Path) -> None:
    module = project / "guest_book" / "page.py"
    module.write_text(
        module.read_text().replace("import kubewright as kw\n", "import kubewright as kw\n\nX = kw.Owned\n")
    )
    assert run(["upgrade"]) == 0
    assert "\nX = kw.Owns\n" in module.read_text()


def test_line_endings_of_a_rewritten_file_stay(project: Path) -> None:
    module = project / "guest_book" / "mine.py"
    module.write_bytes(MODULE.replace("\n", "\r\n").encode())
    assert run(["upgrade"]) == 0
    assert b"kw.Owns(core.Secret)" in module.read_bytes()
    assert module.read_bytes().count(b"\n") == module.read_bytes().count(b"\r\n")


def test_a_file_that_is_not_python_is_skipped_and_reported(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = project / "guest_book" / "broken.py"
    broken.write_text("import kubewright as\n")
    assert run(["upgrade"]) == 0
    assert "skipped   guest_book/broken.py: it cannot be read as Python" in capsys.readouterr().out
    assert broken.read_text() == "import kubewright as\n"
