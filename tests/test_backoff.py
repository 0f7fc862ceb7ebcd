"""Delays that double."""

from __future__ import annotations

import random

from kubewright.backoff import Backoff, doubled


def test_doubles_from_the_first_delay_to_the_longest() -> None:
    backoff = Backoff(first=1.0, longest=5.0)
    assert [backoff.next() for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    backoff.reset()
    assert backoff.next() == 1.0


def test_a_million_failures_do_not_overflow() -> None:
    assert doubled(1_000_000, first=0.005, longest=1000.0) == 1000.0


def test_shortens_each_delay_by_up_to_a_half_at_random() -> None:
    backoff = Backoff(first=8.0, longest=8.0, rng=random.Random(1))
    delays = [backoff.next() for _ in range(200)]
    assert 4.0 <= min(delays) < 4.5
    assert 7.5 < max(delays) <= 8.0
