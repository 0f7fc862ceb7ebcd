import json
from pathlib import Path

import pytest

from benchmarks.report import case_table, heading
from benchmarks.results import Case, Column, Results


def two_programs() -> Case:
    case = Case("list", "List things", "ours", [Column("seconds", "time s", 2), Column("memory", "memory MB")])
    case.add("ours", {"seconds": 1.0, "memory": 50.0})
    case.add("theirs", {"seconds": 5.0, "memory": 100.0})
    case.add("ours", {"seconds": 3.0, "memory": 52.0})
    case.add("theirs", {"seconds": 7.0})
    return case


def run_of(case: Case) -> Results:
    machine: dict[str, str | int | float] = {
        "processor": "Abacus",
        "cores": 2,
        "memory_gb": 24,
        "system": "Linux 6 x86_64",
        "python": "3.11.7",
        "load": 0.1,
    }
    return Results(machine=machine, kubernetes="1.36.3", settings={"rounds": 2}, programs={"ours": "1"}, cases=[case])


@pytest.mark.promise("Running an operator", "Benchmarks print a table with ratios, and write all turns to a file.")
def test_a_table_shows_medians_and_multiples_of_the_reference() -> None:
    lines = case_table(two_programs()).splitlines()
    assert lines[0] == "### List things"
    assert lines[2:6] == [
        "|        | time s        | memory MB      |",
        "|--------|---------------|----------------|",
        "| ours   | 2.00          | 51.0           |",
        "| theirs | 6.00 (3.00 x) | 100.0 (1.96 x) |",
    ]
    assert lines[-1] == "In brackets: as a multiple of ours's."


def test_a_number_that_was_not_measured_is_a_dash() -> None:
    case = two_programs()
    case.columns.append(Column("peak", "peak MB"))
    assert "| theirs | 6.00 (3.00 x) | 100.0 (1.96 x) | -       |" in case_table(case)


def test_without_a_turn_of_the_reference_there_are_no_multiples() -> None:
    case = Case("list", "List things", "ours", [Column("seconds", "time s")])
    case.add("theirs", {"seconds": 5.0})
    assert "| theirs | 5.0    |" in case_table(case)


def test_the_heading_names_machine_and_versions() -> None:
    text = heading(run_of(two_programs()))
    assert "2 cores (Abacus), 24 GB, Linux 6 x86_64, Python 3.11.7, kube-apiserver 1.36.3" in text
    assert text.endswith("ours 1")


@pytest.mark.promise("Running an operator", "Benchmarks print a table with ratios, and write all turns to a file.")
def test_the_file_has_every_turn_beside_medians_and_ratios(tmp_path: Path) -> None:
    path = run_of(two_programs()).write(tmp_path / "results")
    written = json.loads(path.read_text())
    (case,) = written["cases"]
    assert case["turns"]["theirs"] == [{"seconds": 5.0, "memory": 100.0}, {"seconds": 7.0}]
    assert case["medians"]["ours"] == {"seconds": 2.0, "memory": 51.0}
    assert case["ratios"]["theirs"]["seconds"] == 3.0
    assert written["machine"]["cores"] == 2
    assert written["measured_at"].endswith("Z")
