"""Sets of generated files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubewright.manifests import MARK, File, ForeignFile, compare, text_file, write, yaml_file


def one(path: str = "a/one.yaml", value: object = 1) -> File:
    return yaml_file(path, {"value": value})


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def test_a_yaml_file_has_the_mark_in_its_first_line() -> None:
    assert one().text == f"# {MARK}\nvalue: 1\n"


def test_several_documents_are_apart() -> None:
    assert yaml_file("a.yaml", {"a": 1}, {"b": 2}).text == f"# {MARK}\n---\na: 1\n---\nb: 2\n"


def test_other_files_have_the_mark_in_a_comment_of_their_language() -> None:
    assert text_file("x.tpl", "text\n", before="{{/* ", after=" */}}").text == f"{{{{/* {MARK} */}}}}\ntext\n"


@pytest.mark.promise("Manifests", "The same program gives the same bytes, and a second run touches nothing.")
def test_a_second_run_changes_no_byte_and_touches_no_file(tmp_path: Path) -> None:
    files = [one(), one("b.yaml", 2)]
    assert write(tmp_path, files).written == ["a/one.yaml", "b.yaml"]
    before = {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in tmp_path.rglob("*.yaml")}
    again = write(tmp_path, files)
    assert (again.written, again.removed, again.unchanged) == ([], [], ["a/one.yaml", "b.yaml"])
    assert {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in tmp_path.rglob("*.yaml")} == before


def test_the_folder_is_made(tmp_path: Path) -> None:
    write(tmp_path / "x" / "y", [one()])
    assert list(contents(tmp_path)) == ["x/y/a/one.yaml"]


@pytest.mark.promise("Manifests", "Only generated files are removed or replaced.")
def test_generated_files_that_are_not_wanted_any_more_go_and_others_stay(tmp_path: Path) -> None:
    write(tmp_path, [one(), one("old/two.yaml"), one("old/three.yaml"), one("a/old/four.yaml")])
    (tmp_path / "old" / "mine.yaml").write_text("mine: 1\n")
    (tmp_path / "a" / "mine.yaml").write_text(f"mine: 1\n# {MARK}\n")
    done = write(tmp_path, [one()], own=["old", "never"])
    assert done.removed == ["a/old/four.yaml", "old/three.yaml", "old/two.yaml"]
    assert list(contents(tmp_path)) == ["a/mine.yaml", "a/one.yaml", "old/mine.yaml"]


def test_generated_files_in_other_folders_and_beside_them_are_of_another_generator(tmp_path: Path) -> None:
    others = [one("other.yaml"), one("other/two.yaml"), one("other/a/three.yaml")]
    write(tmp_path, others)
    files = [one(), one("b.yaml")]
    assert write(tmp_path, files).removed == []
    assert set(contents(tmp_path)) == {"a/one.yaml", "b.yaml", *(file.path for file in others)}
    assert compare(tmp_path, files) == []


def test_a_folder_that_is_empty_then_goes_too(tmp_path: Path) -> None:
    write(tmp_path, [one(), one("old/deep/two.yaml"), one("old/deep/three.yaml"), one("old/four.yaml")])
    write(tmp_path, [one()], own=["old"])
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.promise("Manifests", "Only generated files are removed or replaced.")
def test_links_are_not_followed_to_what_lies_elsewhere(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "folder"
    write(elsewhere, [one()])
    write(folder, [one("b.yaml")])
    (folder / "link").symlink_to(elsewhere)
    (folder / "c").mkdir()
    (folder / "c" / "link").symlink_to(elsewhere)
    (folder / "c" / "file.yaml").symlink_to(elsewhere / "a" / "one.yaml")
    assert write(folder, [one("b.yaml")], own=["c", "link"]).removed == []
    assert list(contents(elsewhere)) == ["a/one.yaml"]


@pytest.mark.promise("Manifests", "Only generated files are removed or replaced.")
def test_does_not_replace_foreign_file_by_default(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.yaml").write_text("mine: 1\n")
    with pytest.raises(ForeignFile, match=r"a/one\.yaml: not generated, so it is not replaced"):
        write(tmp_path, [one(), one("b.yaml")])
    assert contents(tmp_path) == {"a/one.yaml": "mine: 1\n"}
    write(tmp_path, [one()], replace_foreign=True)
    assert contents(tmp_path) == {"a/one.yaml": one().text}


@pytest.mark.promise("Manifests", "All files are written, or none.")
@pytest.mark.parametrize("failing", range(1, 5))
def test_when_a_step_fails_everything_is_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    write(tmp_path, [one("a.yaml", 1), one("b.yaml", 1), one("old/stale.yaml", 1)])
    before = contents(tmp_path)
    left = failing

    def failing_at(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt if failing % 2 else OSError(28, "No space left on device")
            return real(*args, **kwargs)

        return step

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", failing_at(os.replace))  # three of them, then the stale file is unlinked
        patch.setattr(Path, "unlink", failing_at(Path.unlink))
        with pytest.raises((KeyboardInterrupt, OSError)):
            write(tmp_path, [one("a.yaml", 2), one("b.yaml", 2), one("new/c.yaml", 2)], own=["old"])
    assert contents(tmp_path) == before
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_written_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a file where a folder should be")
    with pytest.raises(OSError, match="a"):
        write(tmp_path, [one("b.yaml"), one("a/one.yaml")])
    assert list(contents(tmp_path)) == ["a"]


@pytest.mark.promise("Manifests", "Drift is reported with a short diff and an exit code.")
def test_comparing_says_how_a_folder_differs(tmp_path: Path) -> None:
    write(tmp_path, [one("a.yaml", 1), one("same.yaml"), one("old/stale.yaml")])
    drifts = compare(tmp_path, [one("a.yaml", 2), one("same.yaml"), one("new.yaml")], own=["old"])
    assert [(drift.path, drift.what) for drift in drifts] == [
        ("a.yaml", "changed"),
        ("new.yaml", "missing"),
        ("old/stale.yaml", "stale"),
    ]
    assert str(drifts[0]).splitlines()[-2:] == ["  -value: 1", "  +value: 2"]
    assert str(drifts[1]) == "new.yaml is missing"
    assert str(drifts[2]) == "old/stale.yaml is no longer generated"
    assert contents(tmp_path)["a.yaml"] == one("a.yaml", 1).text


def test_a_long_difference_is_cut_short(tmp_path: Path) -> None:
    write(tmp_path, [yaml_file("a.yaml", {str(n): 1 for n in range(100, 150)})])
    (drift,) = compare(tmp_path, [yaml_file("a.yaml", {str(n): 2 for n in range(100, 150)})])
    assert len(drift.diff.splitlines()) == 13
    assert drift.diff.splitlines()[-1] == "  ... 92 more lines"


def test_binary_file_differs(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe")
    assert [drift.what for drift in compare(tmp_path, [one("a.yaml")])] == ["changed"]


def test_a_folder_that_is_not_there_lacks_everything(tmp_path: Path) -> None:
    assert [drift.what for drift in compare(tmp_path / "none", [one()])] == ["missing"]


@pytest.mark.parametrize("path", ["/etc/a", "../a", "a/../../b", ""])
def test_a_path_stays_below_the_folder(path: str) -> None:
    with pytest.raises(ValueError, match="must be a path below the folder"):
        File(path, "")


def test_a_path_that_is_given_twice_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a/one\.yaml would be written twice"):
        write(tmp_path, [one(), one()])
