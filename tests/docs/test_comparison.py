"""Every cell of the comparison about another framework has a source."""

from __future__ import annotations

import re

from tests.docs.markdown import ROOT

PAGE = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
COMPARED, _, SOURCES = PAGE.partition("## Sources")


def rows(text: str, columns: int) -> dict[str, list[str]]:
    """Returns the cells of all rows with that many columns, by feature; without headings."""
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:2] == "| "]
    return {first: rest for first, *rest in cells if len(rest) == columns - 1 and first != "feature"}


def test_every_feature_has_a_source_for_each_framework() -> None:
    sources = rows(SOURCES, 5)
    assert list(sources) == list(rows(COMPARED, 6))
    assert [feature for feature, cells in sources.items() if not all(cells)] == []


def test_the_readme_repeats_the_comparison_with_its_date() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    dates = [re.findall(r"hecked (?:every cell )?on (\d{4}-\d\d-\d\d)", text) for text in (readme, PAGE)]
    assert dates[0] == dates[1] != []
