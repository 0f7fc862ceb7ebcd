"""While the caches do not fill, the log says why, again and again."""

from __future__ import annotations

import asyncio
import logging

import pytest

from kubewright.api import core
from kubewright.cache import Caches, CacheSyncError
from kubewright.client import Client, ConnectionLost, Unavailable
from kubewright.clock import VirtualClock
from kubewright.controller import Context
from kubewright.durations import Duration, parse_duration
from kubewright.operator import Operator, Running
from kubewright.operator._syncing import wait_for_sync  # private: takes caches that come in sync at a given turn
from tests.transports.disturbed import Disturbed, NoServer

REASON = "the server does not serve foos.example.com in version v1: install its definition first"


class Waiting(Caches):
    """Caches that come in sync at a given turn. Nothing is asked of a server, and no time passes."""

    def __init__(self, turns: int) -> None:
        self.turns = turns
        self.waited: list[float] = []

    async def wait_for_sync(self, timeout: Duration) -> None:
        seconds = parse_duration(timeout)
        self.waited.append(seconds)
        if len(self.waited) < self.turns:
            raise CacheSyncError(seconds, {"Foo (example.com/v1)": REASON})


async def test_logs_unsynced_caches_every_ten_seconds(caplog: pytest.LogCaptureFixture) -> None:
    caches = Waiting(turns=3)
    with caplog.at_level(logging.WARNING, "kubewright.operator"):
        await wait_for_sync(caches, 120.0)
    assert caches.waited == [10.0, 10.0, 10.0]
    assert [record.getMessage() for record in caplog.records] == [
        f"still waiting for Foo (example.com/v1), for {left} more: {REASON}" for left in ("1m50s", "1m40s")
    ]


async def test_final_error_has_the_whole_timeout(caplog: pytest.LogCaptureFixture) -> None:
    caches = Waiting(turns=99)
    with pytest.raises(CacheSyncError, match=r"^not in sync after 25s: Foo"):
        await wait_for_sync(caches, 25.0)
    assert caches.waited == [10.0, 10.0, 5.0]
    assert len(caplog.records) == 2


async def test_gives_up_on_unreachable_server_within_sync_timeout() -> None:
    clock = VirtualClock()
    operator = Operator("lost", clock=clock, sync_timeout=2)

    @operator.reconciles(core.ConfigMap)
    async def sync_map(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None: ...

    lost = ConnectionLost("Connect call failed ('127.0.0.1', 6443)", sent=False)
    client = Client(transport=Disturbed(NoServer(), lost), clock=clock)
    start = asyncio.ensure_future(Running(operator, client, check_server=True).__aenter__())
    await clock.advance(2)
    assert start.done()
    with pytest.raises(Unavailable, match="Connect call failed"):
        await start
