"""The client of Patroni's REST API, against a server that answers as a test says. No Patroni is needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from postgres_operator.patroni import Patroni, PatroniError, PatroniRefused, PatroniUnreachable, configuration

LEADER = {"name": "c-0", "role": "leader", "state": "running", "timeline": 2, "api_url": "http://127.0.0.1:1/patroni"}
REPLICA = {"name": "c-1", "role": "replica", "state": "streaming", "timeline": 2, "lag": 0, "pending_restart": True}
DEAD = "http://127.0.0.1:1"


@asynccontextmanager
async def serving(answer: Callable[[web.Request], Any]) -> AsyncIterator[str]:
    """Serves answers, and yields the URL."""

    async def handle(request: web.Request) -> web.StreamResponse:
        found = answer(request)
        if hasattr(found, "__await__"):
            found = await found
        return found if isinstance(found, web.StreamResponse) else web.json_response(found)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    async with TestServer(app) as server:
        yield str(server.make_url("/"))


async def test_reads_members_from_the_first_pod_that_answers() -> None:
    async with serving(lambda _: {"members": [REPLICA, LEADER]}) as url, Patroni([DEAD, url]) as patroni:
        leader, replica = await patroni.members()
    assert (leader.name, leader.is_leader, leader.is_running, leader.url) == ("c-0", True, True, "http://127.0.0.1:1")
    assert (replica.is_leader, replica.is_running, replica.lag, replica.pending_restart) == (False, True, 0, True)


async def test_a_replica_that_does_not_stream_is_not_running() -> None:
    content = {"members": [{**REPLICA, "state": "running", "lag": "unknown"}]}
    async with serving(lambda _: content) as url, Patroni([url]) as patroni:
        (member,) = await patroni.members()
    assert not member.is_running
    assert member.lag is None


@pytest.mark.parametrize(
    ("reasons", "first"),
    [
        ({"max_connections": {"old_value": "100", "new_value": "60"}}, True),
        ({"max_connections": {"old_value": "60", "new_value": "100"}}, False),
        ({"shared_buffers": {"old_value": "100", "new_value": "60"}}, False),
        ({"max_connections": "text", "max_wal_senders": {"old_value": "x"}}, False),
        ("text", False),
        (None, False),
    ],
)
async def test_a_primary_restarts_before_replicas_if_a_value_shrinks(reasons: Any, first: bool) -> None:
    content = {"members": [{**LEADER, "pending_restart": True, "pending_restart_reason": reasons}]}
    async with serving(lambda _: content) as url, Patroni([url]) as patroni:
        (member,) = await patroni.members()
    assert member.restarts_first is first


async def test_reports_each_pod_that_does_not_answer() -> None:
    async with Patroni([DEAD]) as patroni:
        with pytest.raises(PatroniUnreachable, match=r"GET http://127\.0\.0\.1:1/cluster"):
            await patroni.members()
    async with Patroni([]) as patroni:
        with pytest.raises(PatroniUnreachable, match="no pods with an address"):
            await patroni.members()


async def test_bounds_the_size_of_a_response() -> None:
    async with serving(lambda _: web.Response(body=b" " * (2 << 20))) as url, Patroni([url]) as patroni:
        with pytest.raises(PatroniUnreachable, match="larger than 1 MiB"):
            await patroni.members()


@pytest.mark.parametrize("content", [[], "text", {"members": 5}, {"members": [5, None]}, {}])
async def test_an_unexpected_answer_has_no_members(content: Any) -> None:
    async with serving(lambda _: content) as url, Patroni([url]) as patroni:
        assert await patroni.members() == []


async def test_does_not_wait_for_a_pod_that_hangs() -> None:
    async with serving(lambda _: asyncio.sleep(60)) as url, Patroni([url], seconds=0.2) as patroni:
        with pytest.raises(PatroniUnreachable):
            await patroni.members()


async def test_does_not_follow_redirects() -> None:
    """A pod could lead the operator to another server."""
    answer = web.Response(status=302, headers={"Location": "http://127.0.0.1:9/cluster"})
    async with serving(lambda _: answer) as url, Patroni([url]) as patroni:
        assert await patroni.members() == []


class TestConfigure:
    async def patched(self, current: dict[str, Any], wanted: dict[str, Any]) -> Any:
        sent = []

        async def answer(request: web.Request) -> web.Response:
            if request.method == "PATCH":
                sent.append(await request.json())
            return web.json_response(current)

        async with serving(answer) as url, Patroni([url]) as patroni:
            assert await patroni.configure(wanted) is bool(sent)
        return sent[0] if sent else None

    async def test_sends_what_differs(self) -> None:
        current = {"ttl": 30, "pause": True, "postgresql": {"use_slots": True, "use_pg_rewind": True}}
        change = await self.patched(current, configuration({"work_mem": "8MB"}, {"ttl": 20}))
        assert change == {"ttl": 20, "postgresql": {"parameters": {"work_mem": "8MB"}}}

    async def test_removes_parameters_that_are_not_wanted(self) -> None:
        current = configuration({"work_mem": "8MB", "max_connections": "9"})
        assert await self.patched(current, configuration({"max_connections": "9"})) == {
            "postgresql": {"parameters": {"work_mem": None}}
        }

    async def test_sends_nothing_if_nothing_differs(self) -> None:
        current = {**configuration({"max_connections": "9"}), "pause": True}
        current["postgresql"]["parameters"]["max_connections"] = 9  # as others wrote it
        assert await self.patched(current, configuration({"max_connections": "9"})) is None


class TestOperations:
    async def test_a_refusal_has_the_reason_of_patroni(self) -> None:
        answer = web.Response(status=412, text="leader name does not match")
        async with serving(lambda _: answer) as url, Patroni([url]) as patroni:
            with pytest.raises(PatroniRefused, match=r"POST /switchover: leader name does not match \(status 412\)"):
                await patroni.switchover("c-0", "c-1")

    async def test_a_restart_that_is_not_needed_any_more_is_done(self) -> None:
        answers = ["restart conditions are not satisfied", "restart already in progress"]
        requests: list[dict[str, Any]] = []

        async def answer(request: web.Request) -> web.Response:
            if request.path == "/cluster":
                return web.json_response({"members": [{**REPLICA, "api_url": f"{url.rstrip('/')}/patroni"}]})
            requests.append(await request.json())
            return web.Response(status=503, text=answers[len(requests) - 1])

        async with serving(answer) as url, Patroni([url]) as patroni:
            (member,) = await patroni.members()
            await patroni.restart(member)
            with pytest.raises(PatroniError, match="already in progress"):
                await patroni.restart(member)
        assert requests[0]["restart_pending"] is True
        assert requests[0]["role"] == "replica"
