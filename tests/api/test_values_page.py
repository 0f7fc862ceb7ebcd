"""The examples in the documentation do what it says they do."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "objects-values.md"


def test_the_examples_on_the_page_of_values_work() -> None:
    failed, attempted = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert attempted > 30
    assert failed == 0
