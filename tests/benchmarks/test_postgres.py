"""The benchmark of the Postgres example, with two clusters."""

from __future__ import annotations

import pytest

from benchmarks.postgres import measure


@pytest.mark.timeout(300)
async def test_counts_calls_and_reconciles_of_the_operator() -> None:
    rows = dict(await measure(2))
    assert rows["writes of 2 reconciles in which nothing changed"] == "0"
    calls, _, writes = rows["API calls of each cluster"].partition(", of which ")
    assert 0 < float(writes.partition(" ")[0]) <= float(calls)
