"""Random changes of a spec, valid and invalid, in any order: a good spec always leads back to a running cluster."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import pytest
from postgres_operator.kinds import State
from worlds import World, minimal, new_world

from kubewright.client import Invalid

GOOD: dict[str, Any] = {
    "teamId": "acid",
    "numberOfInstances": 2,
    "dockerImage": "spilo:good",
    "volume": {"size": "9Gi", "storageClass": "growing"},
    "postgresql": {"version": "17", "parameters": {"max_connections": "100"}},
    "databases": {"foo": "zalando", "more": None},
    "users": {"zalando": ["superuser"], "foo_user": [], "other": None, "Other": None},
    "clone": None,
    "enableConnectionPooler": None,
    "resources": None,
}
CHANGES: list[dict[str, Any]] = [
    {"numberOfInstances": 0},
    {"numberOfInstances": 1},
    {"numberOfInstances": 3},
    {"numberOfInstances": -1},
    {"dockerImage": "spilo:broken"},
    {"dockerImage": "spilo:other"},
    {"volume": {"size": "3Gi"}},
    {"volume": {"size": "1Gi"}},
    {"volume": {"size": "large"}},
    {"volume": {"storageClass": "another"}},
    {"postgresql": {"version": "16"}},
    {"postgresql": {"version": "1"}},
    {"postgresql": {"parameters": {"max_connections": "50"}}},
    {"postgresql": {"parameters": {"work_mem": "8MB"}}},
    {"users": {"other": ["login"]}},
    {"users": {"Other": []}},
    {"users": {"foo_user": None}},
    {"databases": {"more": "zalando"}},
    {"databases": {"more": "unknown"}},
    {"teamId": "other"},
    {"clone": {"cluster": "acid-other"}},
    {"enableConnectionPooler": True},
    {"resources": {"limits": {"memory": "50Mi"}}},
]


async def change(world: World, spec: dict[str, Any]) -> None:
    """Changes the spec, unless the schema rejects it."""
    with contextlib.suppress(Invalid):
        await world.patch({"spec": spec})


@pytest.mark.parametrize("seed", range(5))
async def test_returns_to_a_running_cluster_after_random_changes(seed: int) -> None:
    rng = random.Random(seed)
    async with new_world() as world, world.operator() as running:
        world.broken.add("spilo:broken")
        await world.client.create(minimal())
        await world.patch({"spec": {"volume": {"storageClass": "growing"}}})
        for _ in range(8):
            await change(world, rng.choice(CHANGES))
            await world.clock.advance(rng.choice([0, 0.01, 2, 60]))
        await world.patch({"spec": GOOD})
        cluster = await world.until_state(State.RUNNING)
        assert (cluster.status.message, len(await world.pods())) == (None, 2)
        assert {pod.spec.containers[0].image for pod in await world.pods()} == {"spilo:good"}
        [database] = world.engine.databases
        assert {"zalando", "foo_user"} <= database.passwords.keys()
        await world.clock.advance(120)
        await running.check_idempotent()
