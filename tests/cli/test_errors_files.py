"""Commands that write files: they keep files of the user, write all or nothing, and can run twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubewright.cli import run
from kubewright.scaffold import carry_out, new_api, new_project
from tests.full_disk import no_file_larger_than

pytestmark = pytest.mark.timeout(300)  # on a busy machine

KIND = ["--group", "web", "--version", "v1", "--kind", "Page"]
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}}}
"""

# Each command that writes files: its arguments, one of its files, and its option to overwrite files.
WRITING = {
    "init": (["init", "new", "--domain", "my.domain"], "new/Makefile", "--force"),
    "create api": (["create", "api", *KIND], "guestbook/page.py", "--force"),
    "create webhook": (
        ["create", "webhook", "--group", "web", "--version", "v1", "--kind", "Guestbook", "--defaulting"],
        "guestbook/guestbook_webhook.py",
        "--force",
    ),
    "manifests": (["manifests"], "config/rbac/role.yaml", "--overwrite"),
    "manifests --package": (
        ["manifests", "--package", "kustomize", "--out", "package"],
        "package/default/kustomization.yaml",
        "--overwrite",
    ),
    "chart": (["chart"], "dist/chart/Chart.yaml", "--overwrite"),
    "installer": (["installer"], "dist/install.yaml", "--overwrite"),
    "codegen": (["codegen", "thing.yaml", "--out", "types.py"], "types.py", ""),
}
COMMANDS = pytest.mark.parametrize(("command", "file", "force"), WRITING.values(), ids=WRITING)


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def folders(folder: Path) -> list[str]:
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_dir())
    return sorted(path for path in found if "__pycache__" not in path)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    carry_out(new_project("guestbook", "my.domain"), tmp_path)
    carry_out(new_api(tmp_path, group="web", version="v1", kind="Guestbook"), tmp_path)
    (tmp_path / "thing.yaml").write_text(DEFINITION)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@COMMANDS
def test_a_second_run_changes_nothing(command: list[str], file: str, force: str, project: Path) -> None:
    assert run(command) == 0
    after = tree(project)
    assert file in after
    assert run(command) == 0
    assert tree(project) == after


@COMMANDS
def test_overwrites_a_file_of_the_user_only_with_the_option(
    command: list[str], file: str, force: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = project / file
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("mine\n")
    before = tree(project)
    assert run(command) == 1
    [line] = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Error: ")]
    assert file.removeprefix("new/") in line
    assert tree(project) == before
    if force:
        assert run([*command, force]) == 0
        assert mine.read_text() != "mine\n"


@pytest.mark.promise("Projects", "All files of a command are written or none, also on a full disk.")
@COMMANDS
def test_a_full_disk_changes_nothing(
    command: list[str], file: str, force: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Limits the size of files: some are written in full before the first that does not fit."""
    before, places = tree(project), folders(project)
    with no_file_larger_than(150):
        code = run(command)
    errors = capsys.readouterr().err
    assert code == 1, errors
    assert "File too large" in errors
    assert "Traceback" not in errors
    assert (tree(project), folders(project)) == (before, places)


@pytest.mark.promise("Projects", "A folder that cannot be created or written is named with the reason.")
@pytest.mark.parametrize(
    "command",
    [
        ["init", "blocked/new"],
        ["manifests", "--out", "blocked/new"],
        ["chart", "--out", "blocked/new"],
        ["installer", "--out", "blocked/new/install.yaml"],
        ["bundle", "--image", "registry.example.com/guestbook:1.0.0", "--out", "blocked/new"],
        ["codegen", "thing.yaml", "--out", "blocked/new/types.py"],
    ],
    ids=lambda command: command[0],
)
def test_names_a_folder_that_cannot_be_created_with_the_reason(
    command: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Uses a path below a file, where not even root can create a folder."""
    (project / "blocked").write_text("")
    before = tree(project)
    assert run(command) == 1
    [line] = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Error: ")]
    messages = ("blocked is not a folder", "the folder blocked/new cannot be created: Not a directory")
    assert line.removeprefix("Error: nothing was written: ") in messages
    assert tree(project) == before


@pytest.mark.parametrize(
    "command", [["manifests"], ["init", "new"], ["create", "api", *KIND]], ids=lambda each: each[0]
)
def test_reports_that_the_current_folder_was_removed(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert run(command) == 1
    assert capsys.readouterr().err == "Error: the current folder no longer exists: change to another one\n"


def test_rejects_an_unwritable_kubeconfig_before_the_cluster_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / ("x" * 300)
    assert run(["cluster", "start", "--write-kubeconfig", str(place)]) == 2
    assert capsys.readouterr().err == f"Error: {place} cannot be written: File name too long\n"
