"""`kubewright upgrade`: merges changes of the scaffold into an older project, and keeps the user's changes."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kubewright.cli import run
from kubewright.scaffold import (
    CURRENT,
    RECORD,
    Record,
    ScaffoldError,
    carry_out,
    new_api,
    new_project,
    plan_upgrade,
    scaffolded,
)
from kubewright.scaffold import _versions as scaffold_versions  # private: replaces the templates of this release
from kubewright.version import VERSION
from tests.full_disk import no_file_larger_than
from tools.scaffold_version import REFERENCE

pytestmark = pytest.mark.timeout(300)  # on a busy machine

FIRST_RECORD = f"""\
# What this project is. Written by `kubewright init` and `kubewright create`; the other commands read it.
name = "guest-book"
domain = "my.domain"
repo = "https://code.example.com/guest-book"
scaffold = "{VERSION}"
"""


def project_of(version: int, folder: Path) -> None:
    """The project with all that can be created, as an earlier release wrote it."""
    for path, text in scaffolded(REFERENCE, scaffold=version, kubewright=VERSION).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    kinds = "".join(
        f'\n[[kinds]]\ngroup = "{kind.group}"\nversion = "{kind.version}"\nkind = "{kind.kind}"\n'
        f'module = "{kind.module}"\n{"webhook = true" if kind.webhooks else ""}\n'
        for kind in REFERENCE.kinds
    )
    (folder / RECORD).write_text(FIRST_RECORD + kinds)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An unchanged project of the first scaffold, as the current folder."""
    folder = tmp_path / "guest-book"
    folder.mkdir()
    project_of(1, folder)
    monkeypatch.chdir(folder)
    return folder


def tree(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.relative_to(folder).parts[:1])
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


Templates = Callable[[dict[str, str | None]], None]


@pytest.fixture
def templates(monkeypatch: pytest.MonkeyPatch) -> Templates:
    """Makes the current version differ from the first one only in the given templates."""

    def change(changes: dict[str, str | None]) -> None:
        present = {**scaffold_versions.frozen_templates(1), **changes}
        made = {path: text for path, text in present.items() if text is not None}
        monkeypatch.setattr(scaffold_versions, "present_templates", lambda: made)

    return change


def first(path: str) -> str:
    return scaffold_versions.frozen_templates(1)[path]


def test_reads_from_the_modules_what_the_first_record_lacks(project: Path) -> None:
    record = Record.read(project)
    assert (record.scaffold, record.kubewright) == (1, VERSION)
    assert record.kinds == REFERENCE.kinds


def test_ignores_owned_kinds_that_the_user_added(project: Path) -> None:
    module = project / "guest_book" / "guestbook.py"
    owns = "owns=[apps.Deployment, core.Service]"
    assert owns in module.read_text()
    module.write_text(module.read_text().replace(owns, "owns=[apps.Deployment, Note, other.Deployment, core.Service]"))
    assert Record.read(project).kinds == REFERENCE.kinds
    assert run(["upgrade"]) == 0


@pytest.mark.promise("Projects", "A newer scaffold is merged into a project, and the user's changes stay.")
def test_an_unchanged_project_becomes_the_current_scaffold(project: Path) -> None:
    assert run(["upgrade"]) == 0
    record = Record.read(project)
    today = scaffolded(REFERENCE, scaffold=CURRENT, kubewright=record.kubewright)
    found = tree(project)
    assert (record.scaffold, found.pop(RECORD)) == (CURRENT, record.text())
    assert found == today


@pytest.mark.promise("Projects", "A newer scaffold is merged into a project, and the user's changes stay.")
def test_keeps_both_changes(project: Path) -> None:
    """Upgrades a project with changes of a user from the first scaffold. Its tests run in test_upgrade_versions.py."""
    makefile, readme = project / "Makefile", project / "README.md"
    makefile.write_text(makefile.read_text().replace("\nvet:", "\nmine: ## A target of my own\n\ttrue\n\nvet:"))
    readme.write_text(readme.read_text().replace("A Kubernetes operator, written with Kubewright.", "Books of guests."))
    module = project / "guest_book" / "page.py"
    module.write_text(module.read_text().replace("foo is %s", "my foo is %s"))
    (project / "tests" / "test_mine.py").write_text("def test_mine() -> None:\n    assert True\n")
    (project / ".containerignore").unlink()
    assert run(["upgrade"]) == 0
    assert not plan_upgrade(project).needed
    assert "mine: ## A target of my own" in makefile.read_text()
    assert "Books of guests." in readme.read_text()
    assert "kubewright upgrade" in readme.read_text()
    assert "my foo is %s" in module.read_text()
    assert not (project / ".containerignore").exists()
    for targets in re.findall(r"^\.PHONY: (.*)$", makefile.read_text(), re.MULTILINE):
        for target in targets.split():
            assert f"\n{target}:" in makefile.read_text()


@pytest.mark.promise(
    "Projects",
    "An upgrade is rejected if there are uncommitted changes, does not need git, and can be repeated.",
)
def test_a_second_upgrade_changes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["upgrade"]) == 0
    before = tree(project)
    capsys.readouterr()
    assert run(["upgrade"]) == 0
    message = f"The project is up to date with the scaffold of this release, version {CURRENT}.\n"
    assert capsys.readouterr().out == message
    assert run(["upgrade", "--check"]) == 0
    assert tree(project) == before


def test_check_writes_nothing_and_reports_an_upgrade(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(project)
    assert run(["upgrade", "--check"]) == 3
    assert "run `kubewright upgrade`" in capsys.readouterr().out
    assert tree(project) == before


@pytest.mark.promise("Projects", "A newer scaffold is merged into a project, and the user's changes stay.")
def test_adds_and_removes_files_and_does_not_restore_removed_ones(project: Path, templates: Templates) -> None:
    templates(
        {
            "project/NEWS.md": "New in @name@.\n",
            "project/.containerignore": None,
            "project/.gitignore": None,
            "project/Containerfile": first("project/Containerfile") + "# more\n",
        }
    )
    (project / ".gitignore").write_text("mine\n")
    (project / "Containerfile").unlink()
    upgrade = plan_upgrade(project)
    assert {file.path: file.what for file in upgrade.files} == {
        ".containerignore": "removed",
        ".gitignore": "kept",
        "Containerfile": "deleted",
        "NEWS.md": "added",
    }
    assert run(["upgrade"]) == 0
    assert (project / "NEWS.md").read_text() == "New in guest-book.\n"
    assert (project / ".gitignore").read_text() == "mine\n"
    assert not (project / ".containerignore").exists()
    assert not (project / "Containerfile").exists()


CONFLICT = """\
    <<<<<<< yours
    My line.
    ||||||| scaffold 1
    A Kubernetes operator, written with Kubewright.
    =======
    Another line.
    >>>>>>> scaffold {}
"""


@pytest.fixture
def conflict(project: Path, templates: Templates) -> Path:
    """One file with a conflict, and another one without."""
    line = "A Kubernetes operator, written with Kubewright."
    templates(
        {
            "project/README.md": first("project/README.md").replace(line, "Another line."),
            "project/Containerfile": first("project/Containerfile") + "# more\n",
            "project/docs/NEWS.md": "New.\n",
        }
    )
    readme = project / "README.md"
    readme.write_text(readme.read_text().replace(line, "My line."))
    return readme


@pytest.mark.promise("Projects", "A conflict of an upgrade is shown, and its file is not overwritten.")
def test_shows_a_conflict_and_does_not_change_its_file(
    project: Path, conflict: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = conflict.read_text()
    assert run(["upgrade"]) == 3
    output = capsys.readouterr().out
    assert "conflict  README.md: you and the scaffold changed the same lines\n  README.md:3\n" in output
    assert CONFLICT.format(CURRENT) in output
    assert "Not changed: README.md. Use --write-conflicts" in output
    assert conflict.read_text() == before
    assert (project / "Containerfile").read_text().endswith("# more\n")
    assert Record.read(project).scaffold == 1  # so that the next upgrade finds the conflict again
    assert run(["upgrade"]) == 3
    assert "Containerfile" not in capsys.readouterr().out  # it already has the changes


@pytest.mark.promise("Projects", "A conflict of an upgrade is shown, and its file is not overwritten.")
def test_writes_conflict_markers_on_request(project: Path, conflict: Path) -> None:
    assert run(["upgrade", "--write-conflicts"]) == 3
    written = "".join(f"    {line}" for line in conflict.read_text().splitlines(keepends=True))
    assert CONFLICT.format(CURRENT) in written
    assert Record.read(project).scaffold == CURRENT
    assert run(["upgrade"]) == 0


@pytest.mark.promise("Projects", "A conflict of an upgrade is shown, and its file is not overwritten.")
def test_keeping_the_file_resolves_a_conflict(project: Path, conflict: Path) -> None:
    before = conflict.read_text()
    assert run(["upgrade", "--keep", "README.md"]) == 0
    assert (conflict.read_text(), Record.read(project).scaffold) == (before, CURRENT)


def test_only_a_file_with_a_conflict_can_be_kept(
    project: Path, conflict: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["upgrade", "--keep", "READMEE.md"]) == 2
    assert "the upgrade does not change READMEE.md" in capsys.readouterr().err


def test_a_file_that_both_sides_added_is_a_conflict(project: Path, templates: Templates) -> None:
    templates({"project/NEWS.md": "Theirs.\n"})
    (project / "NEWS.md").write_text("Mine.\n")
    [file] = plan_upgrade(project).files
    assert (file.what, [one.ours for one in file.conflicts]) == ("conflict", ["Mine.\n"])
    assert run(["upgrade"]) == 3
    assert (project / "NEWS.md").read_text() == "Mine.\n"
    (project / "NEWS.md").write_text("Theirs.\n")
    assert run(["upgrade"]) == 0


@pytest.mark.parametrize("content", [b"\xff\xfe", None], ids=["binary", "folder"])
def test_a_path_that_is_not_a_text_file_is_a_conflict(
    project: Path, templates: Templates, content: bytes | None
) -> None:
    templates({"project/NEWS.md": "Theirs.\n"})
    news = project / "NEWS.md"
    news.mkdir() if content is None else news.write_bytes(content)
    [file] = plan_upgrade(project).files
    assert (file.what, "must be a" in file.why) == ("conflict", True)
    assert run(["upgrade", "--write-conflicts"]) == 3
    assert Record.read(project).scaffold == 1


def test_keeps_line_endings(project: Path, templates: Templates) -> None:
    file = project / "Containerfile"
    templates({"project/Containerfile": first("project/Containerfile") + "# more\n"})
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert run(["upgrade"]) == 0
    assert file.read_bytes().endswith(b"\r\n# more\r\n")
    assert file.read_bytes().count(b"\n") == file.read_bytes().count(b"\r\n")


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.promise(
    "Projects",
    "An upgrade is rejected if there are uncommitted changes, does not need git, and can be repeated.",
)
def test_rejects_uncommitted_changes(project: Path, conflict: Path, capsys: pytest.CaptureFixture[str]) -> None:
    top = project.parent  # the project is a folder of the repository
    git(top, "init", "--quiet")
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message", "as it was")
    (project / "notes.txt").write_text("mine")
    before = tree(project)
    assert run(["upgrade"]) == 1
    errors = capsys.readouterr().err
    assert "there are uncommitted changes: notes.txt. Commit them first, so that you can review" in errors
    assert tree(project) == before
    (project / "notes.txt").unlink()
    assert run(["upgrade"]) == 3
    assert run(["upgrade", "--write-conflicts"]) == 3  # the changes of the first upgrade are allowed
    assert Record.read(project).scaffold == CURRENT


def test_allow_dirty_accepts_uncommitted_changes(project: Path) -> None:
    git(project, "init", "--quiet")
    assert run(["upgrade"]) == 1
    assert run(["upgrade", "--allow-dirty"]) == 0


def test_a_full_disk_changes_nothing(project: Path) -> None:
    plan = plan_upgrade(project).plan()
    before = tree(project)
    with no_file_larger_than(150), pytest.raises(OSError, match="too large"):
        carry_out(plan, project)
    assert tree(project) == before


@pytest.mark.promise(
    "Projects",
    "An upgrade is rejected if there are uncommitted changes, does not need git, and can be repeated.",
)
def test_works_without_git(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert run(["upgrade"]) == 0


def test_prints_one_json_document(project: Path, conflict: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["upgrade", "--output", "json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["scaffold"] == {"from": 1, "to": CURRENT}
    assert {one["path"]: one["what"] for one in document["files"]} == {
        "Containerfile": "updated",
        "README.md": "conflict",
        "docs/NEWS.md": "added",
    }
    assert (document["conflicts"], document["written"]) == (["README.md"], ["Containerfile", "docs/NEWS.md"])


def test_does_not_change_a_project_of_a_later_scaffold(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / RECORD).write_text('name = "x"\ndomain = "x.y"\nscaffold = 99\nkubewright = "9.9"\n')
    for command in (["upgrade"], ["create", "api", "--group", "a", "--version", "v1", "--kind", "A"], ["manifests"]):
        assert run(command) == 2
        assert "install a newer one, 9.9 or later" in capsys.readouterr().err


def test_rejects_a_folder_without_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["upgrade"]) == 2
    assert "run this in a project's folder" in capsys.readouterr().err


def test_a_project_stays_at_its_version_until_it_is_upgraded(project: Path, templates: Templates) -> None:
    """So that files that are created in between can be upgraded with the rest."""
    templates({"api/@package@/@module@.py": first("api/@package@/@module@.py") + "\n# the scaffold of today\n"})
    carry_out(new_api(project, group="webapp", version="v1", kind="Late"), project)
    assert "scaffold of today" not in (project / "guest_book" / "late.py").read_text()
    assert Record.read(project).scaffold == 1
    assert run(["init", "--domain", "my.domain"]) == 0  # a second init keeps the version too
    assert run(["upgrade"]) == 0
    assert "scaffold of today" in (project / "guest_book" / "late.py").read_text()


def test_the_record_has_the_options_of_each_kind(tmp_path: Path) -> None:
    carry_out(new_project("guestbook", "my.domain"), tmp_path)
    carry_out(
        new_api(tmp_path, group="web", version="v1", kind="Page", namespaced=False, owns=["Deployment"]), tmp_path
    )
    text = (tmp_path / RECORD).read_text()
    assert f'scaffold = {CURRENT}\nkubewright = "' in text
    assert 'module = "page"\nnamespaced = false\nowns = ["apps.Deployment"]\n' in text
    [kind] = Record.read(tmp_path).kinds
    assert (kind.namespaced, kind.controller, kind.owns) == (False, True, ("apps.Deployment",))


def test_reports_unknown_webhooks(tmp_path: Path) -> None:
    (tmp_path / RECORD).write_text(
        'name = "x"\ndomain = "x.y"\nscaffold = 1\nkubewright = "0"\n[[kinds]]\ngroup = "a.x.y"\nversion = "v1"\n'
        'kind = "A"\nmodule = "a"\nwebhooks = ["defaults"]\n'
    )
    with pytest.raises(ScaffoldError, match="has unknown webhooks of A: defaults"):
        plan_upgrade(tmp_path)


def present(path: str) -> str:
    return scaffold_versions.present_templates()[path].replace("@package@", "guest_book")


@pytest.mark.parametrize("change", ["", "RUN echo mine\n"])
def test_renames_the_containerfile_and_keeps_its_changes(
    project: Path, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = project / "Containerfile", project / "Dockerfile"
    old.write_text(old.read_text() + change)
    assert run(["upgrade"]) == 0
    assert "renamed   Containerfile -> Dockerfile: the scaffold uses this name now" in capsys.readouterr().out
    assert not old.exists()
    assert new.read_text() == present("project/Dockerfile") + change
    assert not plan_upgrade(project).needed


def test_a_conflict_in_a_renamed_file_leaves_the_old_one(project: Path, templates: Templates) -> None:
    line, old, new = "USER 65532:65532", project / "Containerfile", project / "Dockerfile"
    text = first("project/Containerfile")
    templates({"project/Containerfile": None, "project/Dockerfile": text.replace(line, "USER 1:1")})
    old.write_text(old.read_text().replace(line, "USER 2:2"))
    assert run(["upgrade"]) == 3
    assert (old.exists(), new.exists()) == (True, False)
    assert run(["upgrade", "--keep", "Containerfile", "--check"]) == 3
    assert run(["upgrade", "--write-conflicts"]) == 3
    assert (old.exists(), new.exists()) == (False, True)
    assert "<<<<<<< yours\nUSER 2:2\n" in new.read_text()


def test_keeps_a_file_under_its_former_name_on_request(project: Path) -> None:
    assert run(["upgrade", "--keep", "Containerfile"]) == 0
    assert (project / "Containerfile").exists()
    assert not (project / "Dockerfile").exists()


def test_does_not_restore_a_removed_or_renamed_containerfile(project: Path) -> None:
    text = (project / "Containerfile").read_text() + "RUN echo mine\n"
    (project / "Containerfile").unlink()
    assert {file.path: file.what for file in plan_upgrade(project).files}["Dockerfile"] == "deleted"
    (project / "Dockerfile").write_text(text)
    assert run(["upgrade"]) == 0
    assert (project / "Dockerfile").read_text() == present("project/Dockerfile") + "RUN echo mine\n"
    assert not (project / "Containerfile").exists()


def test_renames_the_containerfile_of_an_otherwise_current_project(project: Path) -> None:
    assert run(["upgrade"]) == 0
    (project / "Dockerfile").rename(project / "Containerfile")
    assert run(["upgrade", "--check"]) == 3
    assert run(["upgrade"]) == 0
    assert (project / "Dockerfile").read_text() == present("project/Dockerfile")
    assert not (project / "Containerfile").exists()
    assert run(["upgrade", "--check"]) == 0


def test_a_changed_comment_next_to_a_line_of_the_user_is_not_a_conflict(project: Path, templates: Templates) -> None:
    text = first("project/Makefile")
    templates({"project/Makefile": text.replace("vet: setup ## ", "vet: setup ## Now: ")})
    makefile = project / "Makefile"
    makefile.write_text(makefile.read_text().replace("\t$(PYTHON) -m ruff check .\n", "\ttrue\n", 1))
    before = makefile.read_text()
    assert run(["upgrade"]) == 0
    assert makefile.read_text() == before
