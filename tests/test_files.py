"""Files are written together or not at all, also when the disk is full in the midst of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kubewright.files import remove_own, write_all
from tests.full_disk import no_file_larger_than


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_all_of_it_is_written_and_empty_folders_go(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "gone.txt").write_text("x")
    (tmp_path / "changed.txt").write_text("x")
    write_all(tmp_path, {"new/deep/a.txt": "ä", "changed.txt": "y", "old/gone.txt": None, "never/was.txt": None})
    assert tree(tmp_path) == {"new/deep/a.txt": "ä", "changed.txt": "y"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["changed.txt", "new"]


@pytest.mark.promise("Projects", "All files of a command are written or none, also on a full disk.")
def test_a_full_disk_leaves_everything_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old a")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "b.txt").write_text("old b")
    before = tree(tmp_path)
    with no_file_larger_than(10), pytest.raises(OSError, match="too large"):
        write_all(tmp_path, {"a.txt": "new a", "old/b.txt": None, "new/c.txt": "c", "large.txt": "x" * 20})
    assert tree(tmp_path) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "old"]


@pytest.mark.parametrize("last", ["x" * 300, "folder"], ids=["a name that is too long", "a folder in its place"])
def test_failure_to_replace_a_file_undoes_everything(tmp_path: Path, last: str) -> None:
    (tmp_path / "a.txt").write_text("old a")
    (tmp_path / "b.txt").write_text("old b")
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    with pytest.raises(OSError):
        write_all(tmp_path, {"a.txt": "new a", "b.txt": None, "new/c.txt": "c", last: "x"})
    assert tree(tmp_path) == {"a.txt": "old a", "b.txt": "old b"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt", "folder"]


def test_a_file_keeps_its_mode_and_a_link_its_file(tmp_path: Path) -> None:
    script, link = tmp_path / "run.sh", tmp_path / "link"
    script.write_text("old")
    script.chmod(0o750)
    (tmp_path / "real").write_text("old")
    link.symlink_to("real")
    write_all(tmp_path, {"run.sh": "new", "link": "new"})
    assert script.stat().st_mode & 0o777 == 0o750
    assert (link.is_symlink(), (tmp_path / "real").read_text()) == (True, "new")
    assert sorted(os.listdir(tmp_path)) == ["link", "real", "run.sh"]


def test_removes_only_its_own_file(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    remove_own(path, b"mine")
    for content, stays in ((b"mine", False), (b"", False), (b"of another process", True)):
        path.write_bytes(content)
        remove_own(path, b"mine")
        assert path.exists() == stays
