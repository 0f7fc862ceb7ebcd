"""Health pages: what they say, and that they are served where they were asked for and nowhere else."""

from __future__ import annotations

import asyncio
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

import pytest

from kubewright.clock import SystemClock, VirtualClock
from kubewright.operator import Operator, SettingError
from kubewright.operator.definition import Check
from kubewright.operator.endpoints import HealthPage, HttpServer, Page, PageRequest, Query
from tests.patience import PATIENCE


async def page(
    checks: Mapping[str, Check], below: str = "", query: Query | None = None, name: str = "readyz"
) -> tuple[int, str]:
    answer = await HealthPage(name, checks, SystemClock())(PageRequest(below, query or {}))
    return answer.status, answer.body.decode()


def fail() -> bool:
    raise RuntimeError("the password is hunter2")


async def fail_later() -> str:
    return "the disk is full"


@pytest.mark.promise(
    "Running an operator",
    "Health pages: all checks, one check, verbose, excluded; reasons only where they are meant for all.",
)
async def test_healthy_page_is_ok_and_verbose_lists_each_check() -> None:
    assert await page({"caches": lambda: True}) == (200, "ok")
    assert await page({"caches": lambda: None}, query={"verbose": [""]}) == (
        200,
        "[+]ping ok\n[+]caches ok\nreadyz check passed\n",
    )


@pytest.mark.promise(
    "Running an operator",
    "Health pages: all checks, one check, verbose, excluded; reasons only where they are meant for all.",
)
async def test_failed_check_fails_the_page_and_shows_only_public_reasons(
    caplog: pytest.LogCaptureFixture,
) -> None:
    checks: dict[str, Check] = {"disk": fail_later, "database": fail, "no": lambda: False}
    assert await page(checks, name="healthz") == (
        500,
        "[+]ping ok\n[-]disk failed: the disk is full\n[-]database failed: reason withheld\n"
        "[-]no failed: reason withheld\nhealthz check failed\n",
    )
    assert "healthz: database failed: RuntimeError: the password is hunter2" in caplog.messages


@pytest.mark.parametrize("error", [SystemExit, asyncio.CancelledError])
async def test_exception_of_a_check_fails_only_that_check(error: type[BaseException]) -> None:
    def raises() -> bool:
        raise error

    async def raises_later() -> bool:
        raise error

    assert await page({"now": raises, "later": raises_later}) == (
        500,
        "[+]ping ok\n[-]now failed: reason withheld\n[-]later failed: reason withheld\nreadyz check failed\n",
    )


@pytest.mark.promise(
    "Running an operator",
    "Health pages: all checks, one check, verbose, excluded; reasons only where they are meant for all.",
)
async def test_each_check_has_its_own_page() -> None:
    checks: dict[str, Check] = {"disk": fail_later}
    assert await page(checks, "/ping") == (200, "ok")
    assert await page(checks, "/disk") == (500, "[-]disk failed: the disk is full\n")
    assert await page(checks, "/disc") == (404, "readyz has no such check; the checks are: ping, disk\n")


@pytest.mark.promise(
    "Running an operator",
    "Health pages: all checks, one check, verbose, excluded; reasons only where they are meant for all.",
)
async def test_checks_can_be_excluded() -> None:
    checks: dict[str, Check] = {"disk": fail_later, "caches": lambda: None}
    assert await page(checks, query={"exclude": ["disk"]}) == (200, "ok")
    assert await page(checks, query={"exclude": ["disk", "dsik"], "verbose": [""]}) == (
        200,
        "[+]ping ok\n[+]disk excluded: ok\n[+]caches ok\n"
        "warn: some health checks cannot be excluded: no matches for 'dsik'\nreadyz check passed\n",
    )


async def test_check_that_times_out_fails_and_others_are_reported() -> None:
    clock = VirtualClock()

    async def hang() -> None:
        await asyncio.Event().wait()

    answer = await clock.run(HealthPage("readyz", {"hangs": hang, "caches": lambda: None}, clock)(PageRequest("")))
    assert b"[-]hangs failed: no answer within 5s\n[+]caches ok\n" in answer.body
    assert clock.monotonic() == 5.0


async def test_logs_start_and_end_of_a_failing_check_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "kubewright.operator")
    answers: list[str | None] = ["full", "full", "fuller", None, None]
    shown = HealthPage("healthz", {"disk": lambda: answers.pop(0)}, SystemClock())
    for _ in range(5):
        await shown(PageRequest(""))
    assert caplog.messages == [
        "healthz: disk failed: full",
        "healthz: disk failed: fuller",
        "healthz: disk succeeds again",
    ]


@pytest.mark.parametrize(
    ("name", "check", "message"),
    [
        ("a/b", bool, "the name of a check must be letters, digits"),
        ("", bool, "the name of a check must be letters, digits"),
        (5, bool, "the name of a check must be a string, such as database, not 5"),
        ("ping", bool, "there is already a check 'ping'"),
        ("caches", bool, "there is already a check 'caches'"),
        ("mine", bool, "there is already a check 'mine'"),
        ("other", 5, "a check must be a function without arguments, not 5"),
    ],
)
def test_rejects_invalid_check(name: Any, check: Any, message: str) -> None:
    operator = Operator("mine")
    operator.ready_check("mine", bool)
    operator.health_check("mine", bool)
    with pytest.raises((ValueError, TypeError), match=message):
        operator.ready_check(name, check)


# The server


def get(port: int, path: str, method: str = "GET", timeout: float = PATIENCE) -> tuple[int, str, Mapping[str, str]]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=timeout) as answer:
            return answer.status, answer.read().decode(), dict(answer.headers)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), dict(error.headers)


async def echo(asked: PageRequest) -> Page:
    if asked.below == "/broken":
        raise RuntimeError("secret")
    return Page(f"{asked.below} {sorted(asked.query.items())}".encode(), content_type="text/x")


async def test_serves_registered_paths_and_those_below() -> None:
    async def other(asked: PageRequest) -> Page:
        return Page(b"other")

    async with HttpServer("127.0.0.1:0", {"/a": echo, "/a/b": other}) as server:

        async def ask(path: str, method: str = "GET") -> tuple[int, str, Mapping[str, str]]:
            return await asyncio.to_thread(get, server.port, path, method)

        status, body, headers = await ask("/a/one/?x=1&x=2&y")
        assert (status, body) == (200, "/one [('x', ['1', '2']), ('y', [''])]")
        assert (headers["Content-Type"], headers["X-Content-Type-Options"]) == ("text/x", "nosniff")
        assert (await ask("/a/b"))[:2] == (200, "other")
        assert (await ask("/a", "HEAD"))[:2] == (200, "")
        assert (await ask("/ab"))[:2] == (404, "not found\n")
        assert (await ask("/a", "POST"))[:2] == (405, "only GET and HEAD\n")
        assert (await ask("/a/broken"))[:2] == (500, "internal server error\n")
    assert server.port == 0


async def test_does_not_log_requests(caplog: pytest.LogCaptureFixture) -> None:
    """Probes and scrapes come every few seconds."""
    async with HttpServer("0", {"/a": echo}) as server:
        with caplog.at_level("DEBUG"):
            caplog.clear()
            await asyncio.to_thread(get, server.port, "/a")
            await asyncio.to_thread(get, server.port, "/missing")
    assert [record.name for record in caplog.records if record.name.startswith("kubewright.http")] == []


async def test_error_names_address_in_use() -> None:
    async with HttpServer("0", {"/a": echo}) as first:
        second = HttpServer(f"127.0.0.1:{first.port}", {"/a": echo})
        with pytest.raises(OSError, match=f"cannot listen at 127.0.0.1:{first.port}: "):
            await second.__aenter__()


@pytest.mark.promise("Running an operator", "Pages are on loopback unless asked.")
async def test_listens_only_on_loopback_without_a_host() -> None:
    async with HttpServer("0", {"/a": echo}) as server:
        assert [host for host, _ in server.addresses] == ["127.0.0.1"]


@pytest.mark.promise("Running an operator", "A stuck event loop shows as a failed probe.")
def test_blocked_event_loop_fails_probe() -> None:
    started, release, port = threading.Event(), threading.Event(), list[int]()

    async def serve() -> None:
        async with HttpServer("0", {"/healthz": HealthPage("healthz", {}, SystemClock())}) as server:
            port.append(server.port)
            loop = asyncio.get_running_loop()
            finished = loop.create_future()
            loop.call_soon(started.set)
            loop.call_later(0, release.wait)  # this is what blocks
            loop.call_later(0, lambda: loop.call_later(0.05, finished.set_result, None))
            await finished

    thread = threading.Thread(target=asyncio.run, args=[serve()])
    thread.start()
    try:
        assert started.wait(PATIENCE)
        with pytest.raises((TimeoutError, socket.timeout, urllib.error.URLError)):
            get(port[0], "/healthz", timeout=0.2)
    finally:
        release.set()
        thread.join()


async def test_operator_does_not_start_if_health_address_is_in_use() -> None:
    from kubewright.api import core
    from kubewright.client import Client, ClientConfig
    from kubewright.controller import Context

    async with HttpServer("0", {"/a": echo}) as taken:
        operator = Operator("second", health_bind=str(taken.port))

        @operator.reconciles(core.ConfigMap)
        async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None: ...

        client = Client(ClientConfig(server="http://127.0.0.1:1"))
        with pytest.raises(
            SettingError, match=rf"cannot listen at {taken.port}: .*; choose another address with --health-bind$"
        ):
            await operator.running(client).__aenter__()
