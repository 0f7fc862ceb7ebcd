"""Authorization of requests by the API server, for pages that are served outside of loopback.

A request carries a bearer token. The API server authenticates it (TokenReview) and decides whether its user may `get`
the path of the page (SubjectAccessReview). The path is the registered one: one permission covers the pages below it,
and a client cannot cause a review for each path that it invents.

`Authorizer` caches decisions and bounds the number of reviews. Tokens are not logged. The cache keeps their hashes.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import msgspec

from kubewright.clock import Clock
from kubewright.lru import LRUMemory
from kubewright.operator.endpoints._server import Handler, Page, PageRequest
from kubewright.tasks import cancel_and_wait

__all__ = [
    "ALLOWED",
    "ALLOW_SECONDS",
    "DENY_SECONDS",
    "MOST_CACHED",
    "MOST_REVIEWS",
    "MOST_WAITING",
    "Authorizer",
    "Decision",
    "Review",
    "authorized",
    "bearer_token",
]

ALLOW_SECONDS: Final = 10.0
"""How long a permission is cached. A revoked token works for that long."""
DENY_SECONDS: Final = 5.0
"""How long a refusal is cached, including a failed review."""
MOST_REVIEWS: Final = 4
"""Concurrent reviews of tokens without a previous permission, and as many again of tokens with one."""
MOST_WAITING: Final = 100
"""Requests of each of the two groups that may wait for a review. Further ones get 503."""
MOST_CACHED: Final = 1_000
_LONGEST_TOKEN: Final = 16_384
_TOKEN: Final = re.compile(r"[!-~]+")
_REALM: Final = {"WWW-Authenticate": 'Bearer realm="kubewright"'}
_LATER: Final = {"Retry-After": "5"}


class Decision(msgspec.Struct, frozen=True):
    """A decision about a token: an HTTP status, 200 if the request is allowed, and a message for the client."""

    status: int
    message: str = ""

    @property
    def allowed(self) -> bool:
        """Whether the page may be shown."""
        return self.status == 200


ALLOWED: Final = Decision(200)
_NO_TOKEN: Final = Decision(401, "this page requires a token of the cluster, sent as `Authorization: Bearer TOKEN`")
_BUSY: Final = Decision(503, "too many requests wait for the API server to review their tokens; try again")

Review: TypeAlias = Callable[[str, str], Awaitable[Decision]]
"""Decides about a token and a path. Returns a decision even if the API server does not respond."""

_Key: TypeAlias = tuple[bytes, str]


class Authorizer:
    """Decides which tokens may read which paths.

    - Decisions are cached for `ALLOW_SECONDS` and `DENY_SECONDS`, at most 1,000 of each.
    - Concurrent requests with one token share one review. A canceled request does not cancel the review.
    - At most `MOST_REVIEWS` reviews run concurrently. Tokens that were allowed before have their own limit, so a flood
      of invalid tokens does not delay their next review.
    - `review` decides. If it raises, `decide` raises the same exception, and nothing is cached.

    `close` cancels the reviews in flight.
    """

    def __init__(self, review: Review, clock: Clock) -> None:
        self._review = review
        self._clock = clock
        # Two caches: invalid tokens cannot evict allowed ones. Both are in the order of use.
        self._allowed: LRUMemory[_Key, float] = LRUMemory(MOST_CACHED)
        self._denied: LRUMemory[_Key, tuple[float, Decision]] = LRUMemory(MOST_CACHED)
        self._running: dict[_Key, asyncio.Task[Decision]] = {}
        self._waiting = {True: 0, False: 0}
        self._slots = {known: asyncio.Semaphore(MOST_REVIEWS) for known in (True, False)}

    async def decide(self, token: str, path: str) -> Decision:
        """Returns the decision about a token and a path, from the cache or from a review."""
        key = hashlib.sha256(token.encode()).digest(), path
        if (cached := self._cached(key)) is not None:
            return cached
        running = self._running.get(key)
        if running is None:
            known = key in self._allowed
            if self._waiting[known] >= MOST_WAITING:
                return _BUSY
            self._waiting[known] += 1
            running = asyncio.create_task(self._decide(key, token, known=known), name=f"review of a token for {path}")
            self._running[key] = running
            running.add_done_callback(lambda task: self._ended(key, task, known=known))
        return await asyncio.shield(running)

    async def close(self) -> None:
        """Cancels the reviews in flight."""
        await cancel_and_wait(*self._running.values())

    def _cached(self, key: _Key) -> Decision | None:
        now = self._clock.monotonic()
        if (self._allowed.peek(key) or now) > now:
            return ALLOWED
        until, decision = self._denied.peek(key) or (now, ALLOWED)
        return decision if until > now else None

    async def _decide(self, key: _Key, token: str, *, known: bool) -> Decision:
        async with self._slots[known]:
            decision = await self._review(token, key[1])
        now = self._clock.monotonic()
        self._denied.discard(key)
        if decision.allowed:
            self._allowed.put(key, now + ALLOW_SECONDS)
        else:
            if decision.status != 503:  # a failed review says nothing about the token
                self._allowed.discard(key)
            self._denied.put(key, (now + DENY_SECONDS, decision))
        return decision

    def _ended(self, key: _Key, task: asyncio.Task[Decision], *, known: bool) -> None:
        if not task.cancelled():
            task.exception()  # the waiting requests raise it; without any, asyncio would log it as never retrieved
        self._waiting[known] -= 1
        del self._running[key]


def authorized(handler: Handler, path: str, authorizer: Authorizer) -> Handler:
    """Restricts a page to authorized clients. Others get 401 without a valid token, 403 without the permission.

    Clients get 503 if the API server does not respond.
    """

    async def page(request: PageRequest) -> Page:
        token = bearer_token(request.headers.get("Authorization", ""))
        decision = _NO_TOKEN if token is None else await authorizer.decide(token, path)
        if decision.allowed:
            return await handler(request)
        headers = {401: _REALM, 503: _LATER}.get(decision.status, {})
        return Page(f"{decision.message}\n".encode(), decision.status, headers=headers)

    return page


def bearer_token(header: str) -> str | None:
    """Returns the token of an `Authorization` header, or None if the header has no well-formed one."""
    scheme, _, token = header.strip().partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or len(token) > _LONGEST_TOKEN or not _TOKEN.fullmatch(token):
        return None
    return token
