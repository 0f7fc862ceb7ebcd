"""Runs the prober of `tests/attacks/prober.py`, and judges what it reports."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from tests.attacks.children import Child, fork
from tests.attacks.prober import Outcome, Target
from tests.patience import PATIENCE

__all__ = ["PAGE", "RENEWAL", "Probing", "probing"]

PAGE: Final = 1.0
"""Seconds within which a page answers: the timeout of a kubelet's probe, unless its pod says otherwise."""
RENEWAL: Final = 10.0
"""Seconds within which a lease is renewed: the deadline of Kubernetes' own leader election."""


class Probing:
    """Probes that run in another process during an attack. Any probe that fails, or is late, fails the attack."""

    def __init__(self, prober: Child, page: float = PAGE) -> None:
        self._prober, self._page = prober, page
        self.outcomes: list[Outcome] = []
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Raises AssertionError once a probe has failed. Never has a result."""
        self._news = asyncio.Condition()

    async def follow(self) -> None:
        """Judges each line that the prober writes."""
        with suppress(ConnectionResetError):  # it ended before it read all that was sent
            while line := await self._prober.stdout.readline():
                outcome: Outcome = json.loads(line)
                self.outcomes.append(outcome)
                await self._report(judge(outcome, self._page))
        await self._report("the prober ended: standard error has the reason")

    async def _report(self, problem: str) -> None:
        if problem and not self.failed.done():
            self.failed.set_exception(AssertionError(problem))
        async with self._news:
            self._news.notify_all()

    async def more(self, count: int) -> None:
        """Waits until so many probes that begin from now on have succeeded."""
        now = time.monotonic()
        async with self._news:
            while not self.failed.done() and sum(one["began"] >= now for one in self.outcomes) < count:
                self._prober.stdin.write(b"\n")  # the next probe without a pause
                await self._news.wait()
        if self.failed.done():
            self.failed.result()

    def worst(self) -> str:
        """The slowest probes, for a report."""
        page = max(one["page_seconds"] for one in self.outcomes)
        lease = max(one["lease_seconds"] for one in self.outcomes)
        starved = max(one["starved_seconds"] for one in self.outcomes)
        return f"{len(self.outcomes)} probes, page {page:.2f} s, lease {lease:.2f} s, without a CPU {starved:.2f} s"


def judge(outcome: Outcome, page: float = PAGE) -> str:
    """Returns what is wrong with a probe whose page has so many seconds; empty if nothing is."""
    if outcome["error"]:
        return f"a probe failed: {outcome['error']} ({outcome['starved_seconds']:.2f} s of it without a CPU)"
    if outcome["page_seconds"] > page:
        return f"a probe was answered after {outcome['page_seconds']:.2f} s, which the machine did not cause"
    if outcome["lease_seconds"] > RENEWAL:
        return f"a lease was renewed after {outcome['lease_seconds']:.2f} s, which the machine did not cause"
    return ""


@asynccontextmanager
async def probing(target: Target) -> AsyncIterator[Probing]:
    """Probes a target from another process until the block ends. The first probe has succeeded when the block begins.

    The block ends with the AssertionError of a failed probe if there was one.
    """
    prober = await fork("prober", json.dumps(target), errors=2)
    made = Probing(prober, target.get("seconds", PAGE))
    following = asyncio.create_task(made.follow())
    try:
        async with asyncio.timeout(PATIENCE):
            await made.more(1)
        yield made
        async with asyncio.timeout(PATIENCE):
            await made.more(1)
    finally:
        following.cancel()
        await prober.end()
        with suppress(asyncio.CancelledError):
            await following
        if not made.failed.cancel():
            made.failed.exception()  # retrieved: it was raised in the block
