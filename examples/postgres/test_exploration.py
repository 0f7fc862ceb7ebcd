"""The operator under the faults of the explorer, with a simulated Patroni."""

from __future__ import annotations

import pytest

from kubewright.explore import Report


@pytest.mark.promise("Postgres example", "The explorer runs the operator with a simulated Patroni, and finds no bug.")
@pytest.mark.explore("postgres_operator.operator", samples=["manifests/minimal.yaml"], runs=16, workers=1)
def test_explorer_finds_nothing(explored: Report) -> None:
    assert explored.findings == []
    assert explored.executed > 0, "at least one run has a fault"
