"""The rate limiters."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewright.clock import VirtualClock
from kubewright.queue import ExponentialBackoff, MaxOf, RateLimiter, TokenBucket


@pytest.mark.promise("The queue", "The backoff of a key doubles from 5 ms to 1000 s, until it is forgotten.")
def test_backoff_doubles_from_five_milliseconds_to_a_thousand_seconds() -> None:
    limiter = ExponentialBackoff[str]()
    delays = [limiter.when("a") for _ in range(20)]
    assert delays[:4] == [0.005, 0.01, 0.02, 0.04]
    assert delays[17] == pytest.approx(0.005 * 2**17)
    assert delays[18:] == [1000.0, 1000.0]


@pytest.mark.promise("The queue", "The backoff of a key doubles from 5 ms to 1000 s, until it is forgotten.")
def test_backoff_counts_each_key_for_itself_until_it_is_forgotten() -> None:
    limiter = ExponentialBackoff[str](base=1, cap=60)
    assert [limiter.when("a"), limiter.when("a"), limiter.when("b")] == [1, 2, 1]
    assert (limiter.retries("a"), limiter.retries("b"), limiter.retries("c")) == (2, 1, 0)
    limiter.forget("a")
    limiter.forget("never seen")
    assert limiter.retries("a") == 0
    assert [limiter.when("a"), limiter.when("b")] == [1, 2]


def test_backoff_stays_at_the_cap_however_long_the_key_fails() -> None:
    limiter = ExponentialBackoff[str]()
    limiter._retries["a"] = 1_000_000
    assert limiter.when("a") == 1000.0


def test_a_forgotten_key_takes_no_memory() -> None:
    limiter = ExponentialBackoff[int]()
    for key in range(100):
        limiter.when(key)
        limiter.forget(key)
    assert limiter._retries == {}


@pytest.mark.promise("The queue", "Jitter is a choice, and follows the seed.")
@given(st.integers(), st.floats(0.01, 2), st.integers(1, 30))
def test_jitter_only_lengthens_and_by_no_more_than_its_part(seed: int, jitter: float, tries: int) -> None:
    plain = ExponentialBackoff[str]()
    jittered = ExponentialBackoff[str](jitter=jitter, rng=random.Random(seed))
    for _ in range(tries):
        delay = plain.when("a")
        assert delay <= jittered.when("a") <= delay * (1 + jitter)


@pytest.mark.promise("The queue", "Jitter is a choice, and follows the seed.")
@pytest.mark.promise("Injected time, randomness and transport", "A seed is replayed.")
def test_jitter_is_the_same_for_the_same_seed_and_spreads_keys_that_are_at_the_cap() -> None:
    def delays(seed: int) -> list[float]:
        limiter = ExponentialBackoff[int](base=1, cap=1, jitter=0.5, rng=random.Random(seed))
        return [limiter.when(key) for key in range(10)]

    assert delays(1) == delays(1) != delays(2)
    assert len(set(delays(1))) == 10


@pytest.mark.parametrize(("base", "cap"), [(0, 1), (-1, 1), (2, 1)])
def test_backoff_refuses_times_that_make_no_sense(base: float, cap: float) -> None:
    with pytest.raises(ValueError, match=f"needs 0 < base <= cap, in seconds; got base={base}, cap={cap}"):
        ExponentialBackoff(base, cap)


def test_backoff_refuses_a_negative_jitter() -> None:
    with pytest.raises(ValueError, match=r"jitter is a fraction of the delay, such as 0\.2.*got -0\.1"):
        ExponentialBackoff(jitter=-0.1)


@pytest.mark.promise("The queue", "There is a token bucket, and the longest wait of several limiters.")
async def test_a_token_bucket_lets_the_burst_pass_and_then_the_rate() -> None:
    clock = VirtualClock()
    bucket = TokenBucket[str](rate=10, burst=3, clock=clock)
    assert [bucket.when("a") for _ in range(6)] == pytest.approx([0, 0, 0, 0.1, 0.2, 0.3])
    await clock.advance(0.3)  # the three that are promised have passed
    assert bucket.when("b") == pytest.approx(0.1)


async def test_a_token_bucket_fills_up_to_its_burst_and_no_further() -> None:
    clock = VirtualClock()
    bucket = TokenBucket[str](rate=10, burst=2, clock=clock)
    await clock.advance(3600)
    assert [bucket.when("a") for _ in range(3)] == pytest.approx([0, 0, 0.1])


async def test_a_token_bucket_knows_no_keys() -> None:
    bucket = TokenBucket[str](rate=1, burst=1, clock=VirtualClock())
    bucket.when("a")
    bucket.forget("a")
    assert bucket.retries("a") == 0
    assert bucket.when("a") == 1


@given(st.lists(st.integers(0, 50), min_size=1, max_size=50), st.integers(1, 5))
async def test_a_token_bucket_never_lets_more_pass_than_burst_and_rate(steps: list[int], burst: int) -> None:
    clock = VirtualClock()
    bucket = TokenBucket[int](rate=10, burst=burst, clock=clock)
    passing = []
    for step in steps:
        await clock.advance(step / 100)
        passing.append(clock.monotonic() + bucket.when(0))
    for first in range(len(passing)):
        for last in range(first, len(passing)):
            assert last - first + 1 <= burst + 10 * (passing[last] - passing[first]) + 1e-6


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_a_token_bucket_refuses_numbers_that_make_no_sense(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match=f"rate above 0 and a burst of at least 1; got {rate} and {burst}"):
        TokenBucket(rate, burst)


@pytest.mark.promise("The queue", "There is a token bucket, and the longest wait of several limiters.")
def test_the_longest_wait_of_several_counts() -> None:
    slow_at_first: RateLimiter[str] = ExponentialBackoff(base=3, cap=3)
    slow_later: RateLimiter[str] = ExponentialBackoff(base=1, cap=100)
    limiter = MaxOf(slow_at_first, slow_later)
    assert [limiter.when("a") for _ in range(4)] == [3, 3, 4, 8]
    assert limiter.retries("a") == slow_at_first.retries("a") == slow_later.retries("a") == 4
    limiter.forget("a")
    assert slow_at_first.retries("a") == slow_later.retries("a") == limiter.retries("a") == 0


def test_the_classic_default_of_client_go_can_be_built() -> None:
    limiter = MaxOf[int](ExponentialBackoff(), TokenBucket(rate=10, burst=100, clock=VirtualClock()))
    delays = [limiter.when(key) for key in range(110)]
    assert delays[:100] == [0.005] * 100
    assert delays[-1] == pytest.approx(1.0)


def test_rejects_max_of_without_limiters() -> None:
    with pytest.raises(ValueError, match="at least one rate limiter"):
        MaxOf()
