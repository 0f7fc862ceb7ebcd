"""Garbage collection of random owner graphs: it ends, with the same result as on a real cluster."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.api import core, meta
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.testing import ControlPlane
from tests.cluster.controllers.owner_graphs import HELD, Graph, Outcome, Reference, play, random_graph, snapshot
from tests.patience import PATIENCE, until

RING = Graph(
    ["a0", "a1", "a2"],
    [Reference("a1", "a0", True), Reference("a2", "a1", True), Reference("a0", "a2", True)],
    [("a0", "Foreground")],
)


HELD_OWNER = Graph(["a0", "a1"], [Reference("a1", "a0", False)], [("a0", "Foreground")], held=frozenset({"a0"}))


async def make_namespaces(client: Client, prefix: str) -> None:
    for space in "ab":
        await client.create(core.Namespace(metadata=meta.ObjectMeta(name=f"{prefix}-{space}")))


async def outcomes(graph: Graph) -> list[tuple[str, Outcome]]:
    """Returns the remaining objects of the embedded cluster after each step."""
    found: list[tuple[str, Outcome]] = []
    async with Cluster(seed=1) as cluster, cluster.client() as client:
        await make_namespaces(client, "g")

        async def record(step: str) -> None:
            async with asyncio.timeout(PATIENCE):
                await cluster.settled()
            found.append((step, await snapshot(client, "g")))

        await play(graph, client, "g", record)
    return found


async def test_collects_a_ring_of_blocking_owners() -> None:
    assert (await outcomes(RING))[-1] == ("the deletion of a0 (Foreground)", {})


async def test_collects_non_blocking_dependents_of_an_owner_that_stays() -> None:
    assert (await outcomes(HELD_OWNER))[-1][1] == {"a0": [f"+{HELD}"]}


@settings(max_examples=150, deadline=None)
@given(st.integers(min_value=0))
def test_collection_ends_without_dangling_references(seed: int) -> None:
    graph = random_graph(seed)
    steps = asyncio.run(outcomes(graph))
    for step, left in steps:
        for name, owners in left.items():
            if any(each.startswith("+") for each in owners):
                continue  # an object that is being deleted keeps its owners
            for owner in owners:
                assert owner.rstrip("!") in left, f"{name} names an owner that is gone, after {step}"
    last = steps[-1][1] if steps else {}
    held = {name for name, owners in last.items() if f"+{HELD}" in owners}
    if not held:  # an object that stays may block others
        assert not {name for name, _ in graph.deletions} & set(last)


async def test_serves_requests_while_it_collects_many_objects() -> None:
    """Counts the turns of the event loop: each may process a bounded number of objects."""
    async with Cluster(seed=1) as cluster, cluster.client(namespace="default") as client:
        root = await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="root")))
        owner = meta.OwnerReference(api_version="v1", kind="ConfigMap", name="root", uid=root.metadata.uid or "")
        for number in range(400):
            child = meta.ObjectMeta(name=f"child-{number}", owner_references=[owner])
            await client.create(core.ConfigMap(metadata=child))
        await cluster.settled()
        await client.delete(root)
        turns = 0
        collecting = asyncio.create_task(cluster.settled())
        while not collecting.done():
            await asyncio.sleep(0)
            turns += 1
        assert turns >= 400 / 16


@pytest.fixture(scope="module")
def control_plane() -> Iterator[ControlPlane]:
    with ControlPlane(controllers=True) as started:
        yield started


@pytest.mark.control_plane
async def test_collects_like_a_real_cluster(control_plane: ControlPlane) -> None:
    seeds = range(int(os.environ.get("KUBEWRIGHT_OWNER_GRAPHS", "12")))

    async def compare(number: int, graph: Graph, client: Client) -> None:
        prefix = f"graph-{number}"
        await make_namespaces(client, prefix)
        expected = iter(await outcomes(graph))

        async def converges(step: str) -> None:
            wanted = next(expected)
            assert wanted[0] == step
            left: Outcome = {}

            async def as_wanted() -> bool:
                nonlocal left
                left = await snapshot(client, prefix)
                return left == wanted[1]

            try:
                await until(as_wanted)
            except AssertionError:
                pytest.fail(f"{graph} after {step}: the real cluster has {left}, the embedded one {wanted[1]}")

        await play(graph, client, prefix, converges)

    async with Client.connect(kubeconfig=control_plane.kubeconfig) as client:
        graphs = [RING, HELD_OWNER, *(random_graph(seed) for seed in seeds)]
        await asyncio.gather(*(compare(number, graph, client) for number, graph in enumerate(graphs)))
