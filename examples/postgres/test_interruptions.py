"""Tests of lost answers, and of an operator that is killed while it deletes a cluster."""

from __future__ import annotations

import contextlib

import pytest
from postgres_operator.kinds import Postgresql, State
from worlds import NAMESPACE, content, minimal, new_world

from kubewright.api import apps, core
from kubewright.operator import Killed

NAME = "acid-minimal-cluster"


@pytest.mark.parametrize("nth", range(1, 16, 2))
async def test_lost_answer_of_a_write_does_no_harm(nth: int) -> None:
    async with new_world() as world, world.operator() as running:
        fault = world.cluster.lab.fail(user="operator", status="lost", committed=True, nth=nth)
        await world.client.create(minimal())
        await world.until_state(State.RUNNING)
        assert fault.hits == 1
        found = await content(world)  # Secrets and the database agree
        assert (found["instances"], found["databases"]) == (2, {"foo": "zalando", "bar": "bar_owner"})
        await running.check_idempotent()


@pytest.mark.parametrize("nth", range(1, 5))
async def test_deletes_a_cluster_when_killed_between_its_writes(nth: int) -> None:
    async with new_world() as world:
        runs = [world.operator()]
        with contextlib.suppress(Killed):
            async with runs[0]:
                await world.client.create(minimal(number_of_instances=1))
                await world.until_state(State.RUNNING)
                hook = world.cluster.lab.on_request(lambda _: runs[-1].kill(), user="operator", verb="write", nth=nth)
                await world.client.delete(Postgresql, NAME, NAMESPACE)
                await world.clock.advance(600)
        hook.end()
        runs.append(world.operator())
        async with runs[-1]:
            await world.clock.advance(600)
            assert list(await world.client.list(Postgresql, NAMESPACE)) == []
        assert list(await world.client.list(apps.StatefulSet, NAMESPACE)) == []
        assert [one.metadata.name async for one in world.client.list(core.PersistentVolumeClaim, NAMESPACE)] == [
            f"pgdata-{NAME}-0"
        ]


async def test_a_restart_without_a_change_writes_nothing() -> None:
    """Each child is applied once, because the operator does not remember its applies. The server stores nothing."""
    seen = 0
    async with new_world() as world:
        for life in range(3):  # the second operator claims the fields of the children that the first one has created
            seen = len(world.cluster.lab.journal)
            async with world.operator():
                if not life:
                    await world.client.create(minimal())
                await world.until_state(State.RUNNING)
                await world.clock.advance(3600)
        entries = [entry for entry in list(world.cluster.lab.journal)[seen:] if entry.user == "operator"]
        assert [entry for entry in entries if entry.wrote] == []
        assert len([entry for entry in entries if entry.verb == "apply"]) == 8
