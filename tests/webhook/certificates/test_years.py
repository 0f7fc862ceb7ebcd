"""A year of renewals on a virtual clock: at every moment, who is a little behind trusts who else is."""

from __future__ import annotations

import random
from datetime import timedelta

from msgspec.structs import replace

from kubewright._certificates import KeyPair
from kubewright.client import Client
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.webhook.certificates import Terms
from kubewright.webhook.certificates._keeper import Keeper
from tests.webhook.certificates.authorities import is_trusted, served
from tests.webhook.certificates.objects import address, bundles, validating

DAY = 86_400.0
SETTLE = 300.0
BEHIND = SETTLE / 2
"""How far an API server, or a replica, may be behind in these years."""


class Years:
    """Two replicas that look after one certificate, each a little late, and an API server that is late as well."""

    def __init__(self, client: Client, clock: VirtualClock) -> None:
        self.clock = clock
        self.client = client
        self.of = served(client, clock, "default", validating="certificates-default")
        terms = Terms(
            name="made",
            hosts=self.of.hosts,
            authority_life=timedelta(days=180),
            life=timedelta(days=45),
            settle=SETTLE,
        )
        self.keepers = [Keeper(self.of, replace(terms, jitter=jitter)) for jitter in (0.1, 0.9)]
        self.due = [0.0, 0.0]
        self.rng = random.Random(4)
        self.bundles: list[tuple[float, bytes]] = []
        self.leaves: set[KeyPair] = set()
        self.met: set[tuple[KeyPair, bytes, float]] = set()

    async def next_step(self) -> None:
        """Let time pass until a replica has something to do, and check what everybody believes then."""
        number = self.due.index(min(self.due))
        await self.clock.advance(max(self.due[number] - self.clock.monotonic(), 0))
        pause = await self.keepers[number].step()
        self.due[number] = self.clock.monotonic() + pause + self.rng.uniform(0, BEHIND)
        (bundle,) = await bundles(self.client, "default")
        assert bundle is not None
        self.bundles.append((self.clock.monotonic(), bundle))
        holding = [keeper.held for keeper in self.keepers if keeper.held]
        assert all(self.clock.now() < held.validity.ends for held in holding)
        pairs = {held.leaf for held in holding}
        self.leaves |= pairs
        week = self.clock.monotonic() // (7 * DAY)
        met = {(pair, believed, week) for pair in pairs for believed in self.believed()}
        for pair, believed, _ in met - self.met:  # each pair and bundle when they meet, and once a week
            assert is_trusted(pair, believed, self.clock.now(), self.of.hosts[0])
        self.met |= met

    def believed(self) -> set[bytes]:
        """Every bundle that an API server may go by now."""
        believed = set()
        for since, bundle in reversed(self.bundles):
            believed.add(bundle)
            if since <= self.clock.monotonic() - BEHIND:
                break
        return believed


async def test_a_year_of_renewals_leaves_nobody_without_trust() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, controllers=False) as cluster, cluster.client() as client:
        await client.create(validating("default", address("default")))
        years = Years(client, clock)
        while clock.monotonic() < 370 * DAY:
            await years.next_step()
    distinct = list(dict.fromkeys(bundle for _, bundle in years.bundles))
    counts = [bundle.count(b"BEGIN CERT") for bundle in distinct]
    assert counts == [1, 2, 1, 2, 1, 2], "an authority each four months, and an overlap of two"
    assert 12 <= len(years.leaves) <= 16, "a certificate each month, and one for each new authority"
