"""A year of renewals on a virtual clock: at every moment, who is a little behind trusts who else is.

And clocks that are two years ahead, for a moment or for good.
"""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from msgspec.structs import replace

from kubewright.certificates import KeyPair
from kubewright.client import Client
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.webhook.certificates import CertificatePolicy, CertificateReconciler
from tests.webhook.certificates.authorities import is_trusted, served
from tests.webhook.certificates.objects import address, bundles, validating

DAY = 86_400.0
SETTLE = 300.0
AHEAD = timedelta(days=730)
BEHIND = SETTLE / 2
"""How far an API server, or a replica, may be behind in these years."""


class Years:
    """Two replicas that look after one certificate, each a little late, and an API server that is late as well."""

    def __init__(self, client: Client, clock: VirtualClock) -> None:
        self.clock = clock
        self.client = client
        self.of = served(client, clock, "default", validating="certificates-default")
        policy = CertificatePolicy(
            name="made",
            hosts=self.of.hosts,
            authority_life=timedelta(days=180),
            life=timedelta(days=45),
            settle=SETTLE,
        )
        self.reconcilers = [CertificateReconciler(self.of, replace(policy, jitter=jitter)) for jitter in (0.1, 0.9)]
        self.due = [0.0, 0.0]
        self.rng = random.Random(4)
        self.bundles: list[tuple[float, bytes]] = []
        self.leaves: set[KeyPair] = set()
        self.met: set[tuple[KeyPair, bytes, float]] = set()

    async def next_step(self) -> None:
        """Advances time until a replica has something to do, and checks the trust of all replicas."""
        number = self.due.index(min(self.due))
        await self.clock.advance(max(self.due[number] - self.clock.monotonic(), 0))
        pause = await self.reconcilers[number].reconcile()
        self.due[number] = self.clock.monotonic() + pause + self.rng.uniform(0, BEHIND)
        (bundle,) = await bundles(self.client, "default")
        assert bundle is not None
        self.bundles.append((self.clock.monotonic(), bundle))
        holding = [reconciler.stored for reconciler in self.reconcilers if reconciler.stored]
        assert all(self.clock.now() < stored.validity.ends for stored in holding)
        pairs = {stored.leaf for stored in holding}
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


@pytest.mark.promise(
    "The certificate of the webhooks",
    "A new authority is trusted before it signs, and an old one until all that it signed has expired.",
)
async def test_a_year_of_renewals_never_breaks_trust() -> None:
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


@pytest.mark.promise(
    "The certificate of the webhooks",
    "What a clock that was ahead has made is replaced, and makes a replica unready.",
)
async def test_recovers_from_a_clock_that_was_ahead() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, controllers=False) as cluster, cluster.client() as client:
        await client.create(validating("default", address("default")))
        of = served(client, clock, "default", validating="certificates-default")
        await CertificateReconciler(of).reconcile()
        await CertificateReconciler(replace(of, clock=VirtualClock(clock.now() + AHEAD))).reconcile()
        healing = CertificateReconciler(of)
        pause = await healing.reconcile()
        assert healing.stored is not None
        (bundle,) = await bundles(client, "default")
        assert bundle == healing.stored.bundle
        assert is_trusted(healing.stored.leaf, bundle, clock.now(), of.hosts[0])
        assert pause <= 600, "whether this clock was right shows soon"


@pytest.mark.promise(
    "The certificate of the webhooks",
    "What a clock that was ahead has made is replaced, and makes a replica unready.",
)
async def test_replicas_with_different_clocks_write_at_most_once_a_minute() -> None:
    clock, ahead = VirtualClock(), VirtualClock(VirtualClock().now() + AHEAD)
    async with Cluster(clock=clock, controllers=False) as cluster, cluster.client() as client:
        of = served(client, clock, "default")
        right, wrong = CertificateReconciler(of), CertificateReconciler(replace(of, clock=ahead))
        leaves = set()
        for _ in range(10):  # each is woken by what the other has written
            for reconciler in (right, wrong):
                await reconciler.reconcile()
                assert reconciler.stored is not None
                leaves.add(reconciler.stored.leaf)
        assert len(leaves) == 4, "one each, and one more each since the other's cannot be used"
        await clock.advance(60)
        await right.reconcile()
        assert right.stored is not None
        assert right.stored.leaf not in leaves, "it is tried again"
        assert right.stored.validity.covers(clock.now())
