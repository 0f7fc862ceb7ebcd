"""docs/design/promises.md is generated from the `promise` markers of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.promises import PAGE, SECTIONS, Promise, current_page, files_with_tests, page_of, promises_in


def all_sections() -> list[Promise]:
    return [Promise(section, "It works.", "tests/test_x.py::test_x") for section in SECTIONS]


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == current_page(), "run: python -m tools.promises"


def test_reads_markers_of_functions_classes_and_assignments(tmp_path: Path) -> None:
    file = tmp_path / "test_x.py"
    file.write_text(
        "@pytest.mark.promise('a', 'One.')\n@pytest.mark.promise('a', 'Two.')\ndef test_f(): ...\n"
        "class TestC:\n    @pytest.mark.promise('a', 'Three.')\n    async def test_m(self): ...\n"
        "TestM = pytest.mark.promise('b', 'Four.')(Machine.TestCase)\n"
    )
    assert list(promises_in(file, tmp_path)) == [
        ("a", "One.", "test_x.py::test_f"),
        ("a", "Two.", "test_x.py::test_f"),
        ("a", "Three.", "test_x.py::TestC::test_m"),
        ("b", "Four.", "test_x.py::TestM"),
    ]


def test_reads_files_with_tests_project_and_examples(tmp_path: Path) -> None:
    files = [tmp_path / "tests" / "queue" / "test_x.py", tmp_path / "examples" / "shop" / "test_y.py"]
    for file in (*files, tmp_path / "examples" / "shop" / "operator.py"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert files_with_tests(tmp_path) == files


@pytest.mark.parametrize("arguments", ["'a'", "'a', 'b', 'c'", "'a', sentence='b'", "SECTION, 'b'", "'a', 1"])
def test_rejects_markers_other_than_two_literals(tmp_path: Path, arguments: str) -> None:
    file = tmp_path / "test_x.py"
    file.write_text(f"@pytest.mark.promise({arguments})\ndef test_f(): ...\n")
    with pytest.raises(ValueError, match=r"test_x\.py::test_f: pytest\.mark\.promise takes a section and a sentence"):
        list(promises_in(file, tmp_path))


def test_lists_each_promise_once_with_all_its_tests() -> None:
    second = Promise(SECTIONS[0], "It works.", "tests/test_y.py::test_y")
    assert "| It works. | `tests/test_x.py::test_x`, `tests/test_y.py::test_y` |" in page_of([*all_sections(), second])


def test_rejects_unknown_and_empty_sections() -> None:
    with pytest.raises(ValueError, match="no section 'Nowhere'"):
        page_of([*all_sections(), Promise("Nowhere", "It works.", "tests/test_x.py::test_x")])
    with pytest.raises(ValueError, match="no test has a promise of the section"):
        page_of(all_sections()[1:])
