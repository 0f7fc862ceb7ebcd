"""The three-way merge: takes changes of one side, reports different changes of both as conflicts, loses nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubewright.scaffold._merge import Conflict, merge  # private: a property test of the merge alone, compared with git

AT_ANY_SPEED = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
# Few different lines, so that edits overlap: the same lines, adjacent lines, and repeated lines.
LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "\n"]), max_size=8)
TEXT = LINES.map("".join)
LAST = st.sampled_from(["", "end"])  # a last line without a newline


@st.composite
def texts(draw: st.DrawFn) -> str:
    return str(draw(TEXT)) + str(draw(LAST))


@pytest.mark.promise("Projects", "A merge takes the changes of each side, loses nothing, and agrees with git.")
@AT_ANY_SPEED
@given(base=texts(), other=texts())
def test_takes_the_changes_of_one_side(base: str, other: str) -> None:
    for merged in (merge(base, other, base), merge(base, base, other), merge(base, other, other)):
        assert (merged.conflicts, merged.text()) == ((), other)


@pytest.mark.promise("Projects", "A merge takes the changes of each side, loses nothing, and agrees with git.")
@AT_ANY_SPEED
@given(base=texts(), ours=texts(), theirs=texts())
def test_is_symmetric(base: str, ours: str, theirs: str) -> None:
    one, other = merge(base, ours, theirs), merge(base, theirs, ours)
    swapped = [piece if isinstance(piece, str) else (piece.theirs, piece.base, piece.ours) for piece in other.pieces]
    assert [
        piece if isinstance(piece, str) else (piece.ours, piece.base, piece.theirs) for piece in one.pieces
    ] == swapped


@pytest.mark.promise("Projects", "A merge takes the changes of each side, loses nothing, and agrees with git.")
@AT_ANY_SPEED
@given(base=texts(), ours=texts(), theirs=texts())
def test_a_conflict_contains_both_sides_completely(base: str, ours: str, theirs: str) -> None:
    """Resolving every conflict for one side gives a text with all lines that this side added."""
    merged = merge(base, ours, theirs)
    for conflict in merged.conflicts:
        assert len({conflict.ours, conflict.base, conflict.theirs}) == 3
    for side, pick in ((ours, "ours"), (theirs, "theirs")):
        decided = "".join(getattr(piece, pick) if isinstance(piece, Conflict) else piece for piece in merged.pieces)
        for line in set(side.splitlines(keepends=True)):
            assert decided.count(line) >= side.count(line) - base.count(line)


@AT_ANY_SPEED
@given(base=texts(), ours=texts(), theirs=texts())
def test_a_second_merge_changes_nothing(base: str, ours: str, theirs: str) -> None:
    merged = merge(base, ours, theirs)
    if not merged.conflicts:
        text = merged.text()
        again = merge(theirs, text, theirs)
        assert (again.conflicts, again.text()) == ((), text)


def test_combines_edits_in_different_places() -> None:
    base = "one\ntwo\nthree\nfour\n"
    assert (
        merge(base, "ONE\ntwo\nthree\nfour\n", "one\ntwo\nthree\nFOUR\nfive\n").text()
        == "ONE\ntwo\nthree\nFOUR\nfive\n"
    )


def test_shows_a_conflict_as_git_does() -> None:
    merged = merge("one\ntwo\nthree\n", "one\nmine\nthree\n", "one\nother\nthree")
    [conflict] = merged.conflicts
    assert conflict.line == 2
    assert merged.text("scaffold 1", "scaffold 2") == (
        "one\n<<<<<<< yours\nmine\nthree\n||||||| scaffold 1\ntwo\nthree\n=======\nother\nthree\n>>>>>>> scaffold 2\n"
    )


@pytest.mark.promise("Projects", "A merge takes the changes of each side, loses nothing, and agrees with git.")
@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git to compare with")
@settings(AT_ANY_SPEED, max_examples=15)
@given(base=TEXT, ours=TEXT, theirs=TEXT)
def test_agrees_with_git_without_conflicts(
    base: str, ours: str, theirs: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Numbers every line, because among repeated lines it is ambiguous which one was kept."""
    folder = tmp_path_factory.mktemp("git")
    unique = {name: _numbered(text) for name, text in (("ours", ours), ("base", base), ("theirs", theirs))}
    for name, text in unique.items():
        (folder / name).write_text(text)
    merged = merge(unique["base"], unique["ours"], unique["theirs"])
    asked = _git_merge(folder)
    if not merged.conflicts and asked.returncode == 0:
        assert merged.text() == asked.stdout


def _git_merge(folder: Path) -> subprocess.CompletedProcess[str]:
    command = ["git", "merge-file", "-p", "--diff3", "ours", "base", "theirs"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def _numbered(text: str) -> str:
    seen: dict[str, int] = {}
    lines = []
    for line in text.splitlines():
        seen[line] = seen.get(line, 0) + 1
        lines.append(f"{line}{seen[line]}\n")
    return "".join(lines)
