"""History is compacted at an interval; a list that continues afterwards gets a token for the rest of its objects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from kubewright.client import HttpTransport, load_config
from kubewright.clock import SystemClock, VirtualClock
from kubewright.cluster import Cluster
from kubewright.testing import ControlPlane
from tests.cluster.conftest import Raw

INTERVAL = 300.0
MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str) -> dict[str, object]:
    return {"metadata": {"name": name}}


@pytest_asyncio.fixture
async def embedded(clock: VirtualClock) -> AsyncIterator[Cluster]:
    async with Cluster(clock=clock, seed=1, controllers=False, compaction=INTERVAL) as cluster:
        yield cluster


async def make_expired_token(raw: Raw, compact: Callable[[], Awaitable[object]], maps: str) -> str:
    """Creates a to f and bb, and returns the token of a page with a and b that ended before bb was created."""
    for name in "abcdef":
        await raw("POST", maps, config_map(name))
    page = await raw("GET", f"{maps}?limit=2")
    await raw("POST", maps, config_map("bb"))
    await compact()
    token: str = page.body["metadata"]["continue"]
    return token


async def check_rest(raw: Raw, token: str, maps: str) -> None:
    """Follows an expired token to the end."""
    late = await raw("GET", f"{maps}?limit=2&continue={token}")
    assert (late.status, late.body["reason"]) == (410, "Expired")
    assert late.body["message"].startswith("The provided continue parameter is too old")
    found, revisions, more = [], set(), late.body["metadata"]["continue"]
    while more:
        page = await raw("GET", f"{maps}?limit=2&continue={more}")
        assert page.status == 200
        found.append([item["metadata"]["name"] for item in page.body["items"]])
        revisions.add(page.body["metadata"]["resourceVersion"])
        more = page.body["metadata"].get("continue")
        assert page.body["metadata"].get("remainingItemCount") == (5 - sum(map(len, found)) or None)
    assert found == [["bb", "c"], ["d", "e"], ["f"]]
    assert len(revisions) == 1  # the pages after the first one are consistent with it


@pytest.mark.promise("The embedded cluster", "A list that outlives its revision continues with an inconsistent token.")
async def test_continues_list_after_compaction(raw: Raw, clock: VirtualClock) -> None:
    async def compact() -> None:
        for _ in range(2):
            await clock.advance(INTERVAL)

    token = await make_expired_token(raw, compact, MAPS)
    await check_rest(raw, token, MAPS)


@pytest.mark.promise("The embedded cluster", "A list that outlives its revision continues with an inconsistent token.")
@pytest.mark.control_plane
async def test_real_server_continues_list_after_compaction(control_plane: ControlPlane, namespace: str) -> None:
    transport = HttpTransport(load_config(kubeconfig=control_plane.kubeconfig), SystemClock())
    raw, maps = Raw(transport), f"/api/v1/namespaces/{namespace}/secrets"
    token = await make_expired_token(raw, lambda: asyncio.to_thread(control_plane.expire_history), maps)
    await check_rest(raw, token, maps)
    await transport.close()


async def test_keeps_history_for_one_to_two_intervals(raw: Raw, clock: VirtualClock) -> None:
    for name in "abc":
        await raw("POST", MAPS, config_map(name))
    page = await raw("GET", f"{MAPS}?limit=1")
    await raw("POST", MAPS, config_map("d"))
    path = f"{MAPS}?limit=1&continue={page.body['metadata']['continue']}"
    await clock.advance(INTERVAL)
    assert (await raw("GET", path)).status == 200
    await clock.advance(INTERVAL)
    assert (await raw("GET", path)).status == 410


async def test_keeps_history_without_writes(raw: Raw, clock: VirtualClock) -> None:
    revision = (await raw("GET", MAPS)).body["metadata"]["resourceVersion"]
    await clock.advance(10 * INTERVAL)
    response = await raw.open("GET", f"{MAPS}?watch=true&resourceVersion={revision}")
    await raw("POST", MAPS, config_map("a"))
    assert b'"ADDED"' in await anext(response.chunks())


@pytest.mark.parametrize("given", [0, -1, "soon"])
def test_rejects_invalid_interval(given: float) -> None:
    with pytest.raises(ValueError, match="compaction"):
        Cluster(compaction=given)


@pytest.mark.promise("The embedded cluster", "A list that outlives its revision continues with an inconsistent token.")
async def test_compaction_takes_a_revision(raw: Raw, clock: VirtualClock) -> None:
    before = int((await raw("GET", MAPS)).body["metadata"]["resourceVersion"])
    await clock.advance(INTERVAL)
    assert int((await raw("GET", MAPS)).body["metadata"]["resourceVersion"]) == before + 1
