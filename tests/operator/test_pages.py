"""The Python of the pages about operators is what the text says: it is run, as far as that needs no cluster."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kubewright.operator import Operator
from tests.operator.conftest import EXAMPLE

DOCS = Path(__file__).parents[2] / "docs"


def run_page(name: str) -> dict[str, Any]:
    """Run the page's blocks one after the other, as one program."""
    module = ModuleType(f"page_{name}")
    for block in re.findall(r"^```python\n(.*?)^```$", (DOCS / name).read_text(), re.MULTILINE | re.DOTALL):
        exec(compile(block, name, "exec"), vars(module))
    return vars(module)


@pytest.mark.promise("The control plane for tests", "Pages of the documentation do what they say.")
def test_the_page_about_reconciling_registers_what_it_shows() -> None:
    names = run_page("reconcile.md")
    operator, other = names["operator"], names["other"]
    assert isinstance(operator, Operator)
    assert [one.name for one in operator.registrations()] == [
        "site",
        "bucket",
        "tiers",
        "migration",
        "config",
        "gate",
        "monitored",
        "beside",
    ]
    assert [name for name, _ in operator.registrations()[0].finalizers] == ["example.com/site-operator"]
    assert [one.name for one in other.registrations()] == ["site", "class", "keys"]


@pytest.mark.promise("Running an operator", "Every component works without `Operator`.")
def test_page_without_operator_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)
    assert run_page("without-operator.md")["queue"].name == "foos"
