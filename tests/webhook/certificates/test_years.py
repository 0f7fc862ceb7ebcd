"""Two years of renewals on a virtual clock: at every moment, whoever is a little behind trusts whoever else is."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import timedelta

from kubewright._certificates import KeyPair
from kubewright.client import Client
from kubewright.clock import VirtualClock
from kubewright.webhook.certificates import Terms
from kubewright.webhook.certificates._keeper import Keeper
from tests.webhook.certificates.authorities import is_trusted, served
from tests.webhook.certificates.objects import address, bundles, validating

SETTLE = 300.0
DAY = 86_400.0


@dataclass
class Seen:
    """What somebody believes since a moment: an API server its bundle, a replica its certificate."""

    since: float
    bundle: bytes
    pairs: frozenset[KeyPair]


async def test_two_years_of_renewals_leave_nobody_without_trust(client: Client, namespace: str) -> None:
    clock, rng = VirtualClock(), random.Random(4)
    configuration = validating(namespace, address(namespace))
    (webhook,) = configuration.webhooks or ()
    webhook.failure_policy = "Ignore"
    await client.create(configuration)
    of = served(client, clock, namespace, validating=configuration.metadata.name)
    terms = Terms(name="made", hosts=of.hosts, settle=SETTLE)
    keepers = [Keeper(of, replace(terms, jitter=jitter)) for jitter in (0.1, 0.9)]
    due = [0.0, 0.0]
    history: list[Seen] = []
    leaves, authorities = set(), set()
    try:
        while clock.monotonic() < 730 * DAY:
            number = due.index(min(due))
            await clock.advance(max(due[number] - clock.monotonic(), 0))
            pause = await keepers[number].step()
            # A replica may be late, but not by more than the watch takes.
            due[number] = clock.monotonic() + pause + rng.uniform(0, SETTLE / 4)
            pairs = frozenset(keeper.held.leaf for keeper in keepers if keeper.held)
            (bundle,) = await bundles(client, namespace)
            assert bundle is not None
            history.append(Seen(clock.monotonic(), bundle, pairs))
            leaves |= pairs
            authorities |= set(bundle.split(b"-----END CERTIFICATE-----\n")) - {b""}
            for trusting in _believed(history, clock.monotonic()):
                for pair in pairs:
                    assert is_trusted(pair, trusting, clock.now(), of.hosts[0])
            assert bundle.count(b"BEGIN CERT") <= 2
    finally:
        await client.delete(type(configuration), str(configuration.metadata.name))
    assert len(authorities) == 3, "one at the start, and one after each eight months"
    assert len(leaves) >= 12, "one each two months"
    held = keepers[0].held
    assert held is not None
    assert held.validity.ends - clock.now() > timedelta(days=25)


def _believed(history: list[Seen], now: float) -> set[bytes]:
    """Every bundle that an API server may still go by which is behind by less than the time to settle."""
    believed = set()
    for seen in reversed(history):
        believed.add(seen.bundle)
        if seen.since <= now - SETTLE / 2:
            break
    return believed
