"""Sessions and invitations: how they begin, and how they end."""

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

ANY: Any = None  # a session only carries its console


class Nobody(Viewer):
    def __init__(self, name: str = "nobody") -> None:
        self.name = name


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def sessions(clock: VirtualClock) -> Sessions:
    return Sessions(clock)


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "A session cannot be guessed, ends in time, and with it its pages.",
)
def test_a_session_is_found_by_its_secret_alone(sessions: Sessions) -> None:
    session, secret = sessions.begin(Nobody())
    assert sessions.find(secret) is session
    assert len(secret) >= 43  # 256 bits
    assert secret not in repr(session)
    assert secret != session.key
    assert sessions.find(session.key) is None  # what is kept here opens nothing
    assert sessions.find(secret + "x") is None
    assert sessions.find("") is None


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "A session cannot be guessed, ends in time, and with it its pages.",
)
async def test_a_session_ends_after_two_quiet_hours(sessions: Sessions, clock: VirtualClock) -> None:
    session, secret = sessions.begin(Nobody())
    await clock.advance(7100)
    assert sessions.find(secret) is session
    await clock.advance(7100)
    assert sessions.find(secret) is session
    await clock.advance(7201)
    assert sessions.find(secret) is None
    assert len(sessions) == 0


async def test_a_session_ends_after_twelve_hours_however_busy_it_was(sessions: Sessions, clock: VirtualClock) -> None:
    session, secret = sessions.begin(Nobody())
    for _ in range(11):
        await clock.advance(3600)
        sessions.touch(session)
        assert sessions.alive(session)
    await clock.advance(3601)
    assert sessions.find(secret) is None


def test_signing_out_tells_whoever_wants_to_know(sessions: Sessions) -> None:
    session, secret = sessions.begin(Nobody())
    ended: list[str] = []
    session.on_end.append(lambda: ended.append("once"))
    sessions.end(session)
    sessions.end(session)
    assert ended == ["once"]
    assert sessions.find(secret) is None
    assert not sessions.alive(session)


def test_a_viewer_whom_the_server_does_not_know_any_more_is_signed_out(sessions: Sessions) -> None:
    viewer = Nobody()
    _session, secret = sessions.begin(viewer)
    assert viewer.on_rejected is not None
    viewer.on_rejected()
    assert sessions.find(secret) is None


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "One viewer's sign-ins end no other viewer's session; failed sign-ins delay their address alone.",
)
def test_a_viewer_has_20_sessions_and_ends_his_own_with_more(sessions: Sessions) -> None:
    other = sessions.begin(Nobody("ben"))[1]
    first = sessions.begin(Nobody("ann"))[1]
    second = sessions.begin(Nobody("ann"))[1]
    assert sessions.find(first) is not None
    for _ in range(1_005):
        sessions.begin(Nobody("ann"))
        assert sessions.find(first) is not None  # in use
    assert len(sessions) == 21
    assert sessions.find(second) is None  # least recently used
    assert sessions.find(other) is not None


def test_all_sessions_are_bounded_and_the_viewer_with_most_ends_one(sessions: Sessions) -> None:
    other = sessions.begin(Nobody("ben"))[1]
    for number in range(1_100):
        sessions.begin(Nobody(f"account-{number // 20}"))
    assert len(sessions) == 1_000
    assert sessions.find(other) is not None


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "The printed address lets whoever started the console in, once.",
)
async def test_an_invitation_is_good_for_one_use_within_a_day(sessions: Sessions, clock: VirtualClock) -> None:
    word, old = sessions.invite(), sessions.invite()
    assert not sessions.redeem("guess")
    assert sessions.redeem(word)
    assert not sessions.redeem(word)
    await clock.advance(24 * 3600 + 1)
    assert not sessions.redeem(old)


async def test_strangers_ask_the_api_server_a_few_at_a_time(cluster: Cluster) -> None:
    class Asked(Console):
        under_way = 0
        answered = asyncio.Event()

        async def viewer_with_token(self, token: str) -> Viewer:
            self.under_way += 1
            await self.answered.wait()
            raise SignInError("nobody knows it")

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
    assert statuses == [401] * 8 + [429] * 12  # eight failures delay the others, which have not asked
    assert console.under_way == 8
