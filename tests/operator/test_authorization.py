"""Who may read pages outside of loopback: decisions, their cache, and the bounds of reviews."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from kubewright.clock import VirtualClock
from kubewright.operator.endpoints import (
    ALLOW_SECONDS,
    ALLOWED,
    DENY_SECONDS,
    MOST_REVIEWS,
    MOST_WAITING,
    Authorizer,
    Decision,
    Page,
    PageRequest,
    authorized,
    bearer_token,
)

DENIED = Decision(401, "invalid")


class Reviews:
    """Reviews that the test answers: by token, immediately or when `open` is set."""

    def __init__(self, decisions: Mapping[str, Decision]) -> None:
        self.decisions = dict(decisions)
        self.asked: list[str] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.open = asyncio.Event()
        self.open.set()

    async def __call__(self, token: str, path: str) -> Decision:
        self.asked.append(token)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await self.open.wait()
        finally:
            self.in_flight -= 1
        return self.decisions.get(token, DENIED)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer abc.def-_~+/==", "abc.def-_~+/=="),
        ("bearer  abc ", "abc"),
        ("", None),
        ("Bearer", None),
        ("Bearer ", None),
        ("Basic YTpi", None),
        ("Bearer a b", None),
        ("Bearer a\x00b", None),
        ("Bearer tökén", None),
        ("Bearer " + "x" * 16_385, None),
    ],
)
def test_reads_bearer_token(header: str, token: str | None) -> None:
    assert bearer_token(header) == token


@pytest.mark.promise(
    "Watching an operator",
    "Decisions are cached, concurrent requests share a review, and a flood of tokens is bounded.",
)
async def test_caches_permission_longer_than_refusal() -> None:
    clock, reviews = VirtualClock(), Reviews({"good": ALLOWED})
    authorizer = Authorizer(reviews, clock)
    assert DENY_SECONDS < ALLOW_SECONDS
    for _ in range(3):
        assert (await authorizer.decide("good", "/metrics")).allowed
        assert await authorizer.decide("bad", "/metrics") == DENIED
    assert reviews.asked == ["good", "bad"]
    await clock.advance(DENY_SECONDS)
    await authorizer.decide("good", "/metrics")
    await authorizer.decide("bad", "/metrics")
    assert reviews.asked == ["good", "bad", "bad"]
    await clock.advance(ALLOW_SECONDS - DENY_SECONDS)
    reviews.decisions["good"] = DENIED
    assert await authorizer.decide("good", "/metrics") == DENIED


async def test_decides_per_path() -> None:
    reviews = Reviews({"good": ALLOWED})
    authorizer = Authorizer(reviews, VirtualClock())
    await authorizer.decide("good", "/metrics")
    await authorizer.decide("good", "/debug/kubewright")
    assert reviews.asked == ["good", "good"]


@pytest.mark.promise(
    "Watching an operator",
    "Decisions are cached, concurrent requests share a review, and a flood of tokens is bounded.",
)
async def test_concurrent_requests_share_one_review() -> None:
    reviews = Reviews({"good": ALLOWED})
    reviews.open.clear()
    authorizer = Authorizer(reviews, VirtualClock())
    first, *others = [asyncio.create_task(authorizer.decide("good", "/metrics")) for _ in range(50)]
    await settle()
    first.cancel()  # a client that goes away does not take the review from the others
    await settle()
    reviews.open.set()
    assert all(decision.allowed for decision in await asyncio.gather(*others))
    assert reviews.asked == ["good"]


@pytest.mark.promise(
    "Watching an operator",
    "Decisions are cached, concurrent requests share a review, and a flood of tokens is bounded.",
)
async def test_bounds_reviews_in_flight_and_waiting() -> None:
    reviews = Reviews({})
    reviews.open.clear()
    authorizer = Authorizer(reviews, VirtualClock())
    flood = [asyncio.create_task(authorizer.decide(f"guess-{n}", "/metrics")) for n in range(1_000)]
    await settle()
    assert reviews.most_in_flight == len(reviews.asked) == MOST_REVIEWS
    refused = [task for task in flood if task.done()]
    assert len(refused) == 1_000 - MOST_WAITING
    assert {task.result().status for task in refused} == {503}
    reviews.open.set()
    assert {decision.status for decision in await asyncio.gather(*flood)} == {401, 503}
    assert reviews.most_in_flight == MOST_REVIEWS
    assert len(reviews.asked) == MOST_WAITING


@pytest.mark.promise(
    "Watching an operator",
    "Decisions are cached, concurrent requests share a review, and a flood of tokens is bounded.",
)
async def test_flood_of_invalid_tokens_does_not_delay_token_that_was_allowed() -> None:
    clock, reviews = VirtualClock(), Reviews({"good": ALLOWED})
    authorizer = Authorizer(reviews, clock)
    await authorizer.decide("good", "/metrics")
    for n in range(3_000):
        await authorizer.decide(f"guess-{n}", "/metrics")  # nor evicts it from the cache
    assert (await authorizer.decide("good", "/metrics")).allowed
    assert reviews.asked.count("good") == 1
    await clock.advance(ALLOW_SECONDS)
    reviews.open.clear()
    flood = [asyncio.create_task(authorizer.decide(f"other-{n}", "/metrics")) for n in range(1_000)]
    await settle()
    scrape = asyncio.create_task(authorizer.decide("good", "/metrics"))
    await settle()
    assert reviews.asked[-1] == "good"
    reviews.open.set()
    assert (await scrape).allowed
    await asyncio.gather(*flood)


async def test_failed_review_refuses_and_keeps_priority_of_token() -> None:
    clock, reviews = VirtualClock(), Reviews({"good": ALLOWED})
    authorizer = Authorizer(reviews, clock)
    await authorizer.decide("good", "/metrics")
    await clock.advance(ALLOW_SECONDS)
    reviews.decisions["good"] = Decision(503, "away")
    assert (await authorizer.decide("good", "/metrics")).status == 503
    await clock.advance(DENY_SECONDS)
    reviews.decisions["good"] = ALLOWED
    reviews.open.clear()
    flood = [asyncio.create_task(authorizer.decide(f"other-{n}", "/metrics")) for n in range(200)]
    scrape = asyncio.create_task(authorizer.decide("good", "/metrics"))
    await settle()
    assert reviews.asked[-1] == "good"
    reviews.open.set()
    assert (await scrape).allowed
    await asyncio.gather(*flood)


async def test_memory_is_bounded() -> None:
    authorizer = Authorizer(Reviews({f"good-{n}": ALLOWED for n in range(2_000)}), VirtualClock())
    for n in range(2_000):
        await authorizer.decide(f"good-{n}", "/metrics")
        await authorizer.decide(f"bad-{n}", "/metrics")
    assert len(authorizer._allowed) == len(authorizer._denied) == 1_000
    assert not authorizer._running


async def test_keeps_no_token() -> None:
    authorizer = Authorizer(Reviews({"s3cret": ALLOWED}), VirtualClock())
    await authorizer.decide("s3cret", "/metrics")
    assert "s3cret" not in repr(vars(authorizer)["_allowed"])


async def test_close_cancels_reviews() -> None:
    reviews = Reviews({})
    reviews.open.clear()
    authorizer = Authorizer(reviews, VirtualClock())
    asked = asyncio.create_task(authorizer.decide("any", "/metrics"))
    await settle()
    await authorizer.close()
    assert reviews.in_flight == 0
    with pytest.raises(asyncio.CancelledError):
        await asked


async def test_page_answers_by_decision() -> None:
    decisions = {"good": ALLOWED, "poor": Decision(403, "poor may not"), "late": Decision(503, "away")}
    authorizer = Authorizer(Reviews(decisions), VirtualClock())

    async def page(asked: PageRequest) -> Page:
        return Page(f"secret{asked.below}".encode())

    guarded = authorized(page, "/metrics", authorizer)

    async def ask(**headers: str) -> Page:
        return await guarded(PageRequest("/below", headers=headers))

    assert (await ask(Authorization="Bearer good")).body == b"secret/below"
    anonymous = await ask()
    assert (anonymous.status, anonymous.headers["WWW-Authenticate"]) == (401, 'Bearer realm="kubewright"')
    assert b"Authorization: Bearer" in anonymous.body
    invalid = await ask(Authorization="Bearer bad")
    assert (invalid.status, "WWW-Authenticate" in invalid.headers) == (401, True)
    assert (await ask(Authorization="Bearer poor")).status == 403
    late = await ask(Authorization="Bearer late")
    assert (late.status, late.body, late.headers["Retry-After"]) == (503, b"away\n", "5")
