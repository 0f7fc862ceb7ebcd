"""Sessions and invitations."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.types import Message

from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.console import Console, SignInError
from kubewright.console.access import Sessions, Viewer
from kubewright.console.server import AuthenticationMiddleware

ANY: Any = None  # the application is never called


class FakeViewer(Viewer):
    def __init__(self, name: str = "ann") -> None:
        self.name = name


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def sessions(clock: VirtualClock) -> Sessions:
    return Sessions(clock)


@pytest.mark.promise(
    "Access to the console and its cost",
    "A session cannot be guessed, expires, and closes its pages.",
)
def test_finds_session_only_by_its_secret(sessions: Sessions) -> None:
    session, secret = sessions.begin(FakeViewer())
    assert sessions.find(secret) is session
    assert len(secret) >= 43  # 256 bits
    assert secret not in repr(session)
    assert secret != session.key
    assert sessions.find(session.key) is None  # the stored digest is not a valid cookie
    assert sessions.find(secret + "x") is None
    assert sessions.find("") is None


@pytest.mark.promise(
    "Access to the console and its cost",
    "A session cannot be guessed, expires, and closes its pages.",
)
async def test_session_expires_after_two_idle_hours(sessions: Sessions, clock: VirtualClock) -> None:
    session, secret = sessions.begin(FakeViewer())
    await clock.advance(7100)
    assert sessions.find(secret) is session
    await clock.advance(7100)
    assert sessions.find(secret) is session
    await clock.advance(7201)
    assert sessions.find(secret) is None
    assert len(sessions) == 0


async def test_session_expires_after_twelve_hours(sessions: Sessions, clock: VirtualClock) -> None:
    session, secret = sessions.begin(FakeViewer())
    for _ in range(11):
        await clock.advance(3600)
        sessions.touch(session)
        assert sessions.alive(session)
    await clock.advance(3601)
    assert sessions.find(secret) is None


def test_ending_a_session_calls_back(sessions: Sessions) -> None:
    session, secret = sessions.begin(FakeViewer())
    ended: list[str] = []
    session.on_end.append(lambda: ended.append("once"))
    sessions.end(session)
    sessions.end(session)
    assert ended == ["once"]
    assert sessions.find(secret) is None
    assert not sessions.alive(session)


def test_rejected_credentials_end_the_session(sessions: Sessions) -> None:
    viewer = FakeViewer()
    _session, secret = sessions.begin(viewer)
    assert viewer.on_rejected is not None
    viewer.on_rejected()
    assert sessions.find(secret) is None


@pytest.mark.promise(
    "Access to the console and its cost",
    "One viewer's sign-ins end no other viewer's session; failed sign-ins delay only their address.",
)
def test_limits_sessions_per_viewer_to_20(sessions: Sessions) -> None:
    other = sessions.begin(FakeViewer("ben"))[1]
    first = sessions.begin(FakeViewer("ann"))[1]
    second = sessions.begin(FakeViewer("ann"))[1]
    assert sessions.find(first) is not None
    for _ in range(1_005):
        sessions.begin(FakeViewer("ann"))
        assert sessions.find(first) is not None  # in use
    assert len(sessions) == 21
    assert sessions.find(second) is None  # least recently used
    assert sessions.find(other) is not None


def test_limits_all_sessions_at_the_expense_of_the_largest_viewer(sessions: Sessions) -> None:
    other = sessions.begin(FakeViewer("ben"))[1]
    for number in range(1_100):
        sessions.begin(FakeViewer(f"account-{number // 20}"))
    assert len(sessions) == 1_000
    assert sessions.find(other) is not None


@pytest.mark.promise(
    "Access to the console and its cost",
    "The printed URL signs in the user who started the console, once.",
)
async def test_invitation_is_valid_once_within_a_day(sessions: Sessions, clock: VirtualClock) -> None:
    word, old = sessions.invite(), sessions.invite()
    assert not sessions.redeem("guess")
    assert sessions.redeem(word)
    assert not sessions.redeem(word)
    await clock.advance(24 * 3600 + 1)
    assert not sessions.redeem(old)


async def test_bounds_concurrent_token_reviews(cluster: Cluster) -> None:
    class Asked(Console):
        under_way = 0
        answered = asyncio.Event()

        async def viewer_with_token(self, token: str) -> Viewer:
            self.under_way += 1
            await self.answered.wait()
            raise SignInError("unknown token")

    console = Asked(cluster.client())
    door = AuthenticationMiddleware(ANY, console, console.sessions)
    statuses: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"token=guess"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    form = {"type": "http", "method": "POST", "path": "/sign-in", "query_string": b"", "headers": [(b"host", b"here")]}
    asking = [asyncio.create_task(door(dict(form), receive, send)) for _ in range(20)]
    for _ in range(100):
        await asyncio.sleep(0)
    assert console.under_way == 8
    console.answered.set()
    await asyncio.gather(*asking)
    assert statuses == [401] * 8 + [429] * 12  # eight failures delay the others, which are not verified yet
    assert console.under_way == 8
