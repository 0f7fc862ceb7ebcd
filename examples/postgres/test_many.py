"""A thousand clusters: a bounded number of API calls for each, and none when nothing changes."""

from __future__ import annotations

from collections import Counter

import pytest
from postgres_operator.kinds import Postgresql, State
from worlds import NAMESPACE, minimal, new_world

COUNT = 1_000
MOST_WRITES = 20
"""Of the operator for each cluster, from its creation to Running: 6 Secrets, 7 other children, the StatefulSet, the
finalizer, and the changes of the status."""


@pytest.mark.timeout(900)
async def test_thousand_clusters_need_a_bounded_number_of_calls() -> None:
    async with new_world() as world:
        journal = world.cluster.lab
        start = journal.journal[-1].number if journal.journal else 0
        async with world.operator() as running:
            for number in range(COUNT):
                await world.client.create(minimal(f"acid-{number}", number_of_instances=1))

            async def all_run() -> bool:
                found = await world.client.list(Postgresql, NAMESPACE)
                return all(one.status.state is State.RUNNING for one in found)

            await world.clock.advance_until(all_run, limit=3600)
            await world.clock.advance(60)
            calls = [entry for entry in journal.journal_since(start) if entry.user == "operator"]
            writes = Counter(
                entry.name.split(".")[1] if "." in entry.name else entry.name for entry in calls if entry.wrote
            )
            assert sum(writes.values()) <= COUNT * MOST_WRITES
            reads = [entry for entry in calls if not entry.wrote and entry.resource != "events"]
            assert len(reads) < COUNT  # the caches answer; what is left starts them
            after = journal.journal[-1].number
            await running.check_idempotent()
            again = [one for one in journal.journal_since(after) if one.user == "operator" and one.wrote]
            assert again == []
