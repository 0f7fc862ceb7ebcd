"""The pace of requests: virtual latency, and a budget of writes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Final

from kubewright.clock import Clock, VirtualClock
from kubewright.cluster.laboratory._requests import Incoming, Matches
from kubewright.cluster.laboratory._scope import Scope
from kubewright.cluster.machinery._failures import Failure
from kubewright.counts import counted

__all__ = ["Latency", "Pace", "WriteBudget", "WriteBudgetExceeded"]

_SHOWN: Final = 5


class WriteBudgetExceeded(Exception):
    """A run made more writes than its budget allows. The message lists the most frequent ones."""


class Latency(Scope):
    """The latency of requests until `end`, or until the end of its `with` block."""

    def __init__(self, matches: Matches, seconds: float, jitter: float, rng: random.Random) -> None:
        self.matches = matches
        self._seconds = seconds
        self._jitter = jitter
        self._rng = rng
        self.ended: Callable[[Latency], None] = lambda _: None

    def next(self) -> float:
        """Returns the seconds that the next request takes."""
        return self._seconds + (self._rng.random() * self._jitter if self._jitter else 0.0)

    def end(self) -> None:
        """Ends the latency. May be called more than once."""
        self.ended(self)


class WriteBudget(Scope):
    """A number of writes, until `end` or until the end of its `with` block. `used` counts them."""

    def __init__(self, matches: Matches, limit: int, clock: Clock) -> None:
        self.matches = matches
        self.limit = limit
        self.used = 0
        self._clock = clock
        self._counts: Counter[str] = Counter()
        self.ended: Callable[[WriteBudget], None] = lambda _: None

    @property
    def exceeded(self) -> bool:
        """Whether more writes were requested than the budget has."""
        return self.used > self.limit

    def check(self) -> None:
        """Raises `WriteBudgetExceeded` if more writes were requested than the budget has."""
        if self.exceeded:
            raise WriteBudgetExceeded(self._problem())

    def spend(self, incoming: Incoming) -> None:
        """Counts a write. Raises a failure for each one beyond the budget."""
        self.used += 1
        where = "/".join(part for part in (incoming.namespace, incoming.name, incoming.subresource) if part)
        self._counts[f"{incoming.verb} {incoming.resource} {where} of {incoming.user}"] += 1
        if self.exceeded:
            if self.used == self.limit + 1 and isinstance(self._clock, VirtualClock):
                self._clock.call_later(0, self.check)  # raised by the test that moves the clock
            raise Failure(429, "TooManyRequests", self._problem(), retry_after=1)

    def _problem(self) -> str:
        most = ", ".join(f"{counted(count, 'time')} {what}" for what, count in self._counts.most_common(_SHOWN))
        return f"the run exceeded its budget of {counted(self.limit, 'write')}: {most}"

    def end(self) -> None:
        """Ends the budget. May be called more than once."""
        self.ended(self)


class Pace:
    """The latencies and budgets of a cluster."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._latencies: list[Latency] = []
        self._budgets: list[WriteBudget] = []

    def add_latency(self, latency: Latency) -> None:
        """Adds a latency. The last one that matches a request applies to it."""
        self._latencies.append(latency)
        latency.ended = lambda one: self._latencies.remove(one) if one in self._latencies else None

    def add_budget(self, budget: WriteBudget) -> None:
        """Adds a budget."""
        self._budgets.append(budget)
        budget.ended = lambda one: self._budgets.remove(one) if one in self._budgets else None

    def clear(self) -> None:
        """Ends all of them."""
        self._latencies.clear()
        self._budgets.clear()

    async def passed(self, incoming: Incoming) -> None:
        """Waits as long as the request takes to arrive, and counts it. Raises a failure beyond a budget."""
        latency = next((one for one in reversed(self._latencies) if one.matches(incoming)), None)
        if latency is not None:
            await self._clock.sleep(latency.next())
        for budget in list(self._budgets):
            if budget.matches(incoming):
                budget.spend(incoming)
