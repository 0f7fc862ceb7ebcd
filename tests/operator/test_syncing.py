"""While the caches do not fill, the log says why, again and again."""

from __future__ import annotations

import logging

import pytest

from kubewright.cache import Caches, CacheSyncError
from kubewright.operator._syncing import sync

REASON = "the server does not serve foos.example.com in version v1: install its definition first"


class Waiting(Caches):
    """Caches that come in sync at a given turn. Nothing is asked of a server, and no time passes."""

    def __init__(self, turns: int) -> None:
        self.turns = turns
        self.waited: list[float] = []

    async def wait_for_sync(self, timeout: float) -> None:
        self.waited.append(timeout)
        if len(self.waited) < self.turns:
            raise CacheSyncError(timeout, {"Foo (example.com/v1)": REASON})


async def test_what_is_missing_is_said_every_ten_seconds(caplog: pytest.LogCaptureFixture) -> None:
    caches = Waiting(turns=3)
    with caplog.at_level(logging.WARNING, "kubewright.operator"):
        await sync(caches, 120.0)
    assert caches.waited == [10.0, 10.0, 10.0]
    assert [record.getMessage() for record in caplog.records] == [
        f"still waiting for Foo (example.com/v1), for {left} s more: {REASON}" for left in (110, 100)
    ]


async def test_the_error_in_the_end_tells_the_whole_time(caplog: pytest.LogCaptureFixture) -> None:
    caches = Waiting(turns=99)
    with pytest.raises(CacheSyncError, match=r"^not in sync after 25 s: Foo"):
        await sync(caches, 25.0)
    assert caches.waited == [10.0, 10.0, 5.0]
    assert len(caplog.records) == 2
