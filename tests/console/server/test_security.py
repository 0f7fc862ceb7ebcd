"""The guard, with a real server and real clients: names, origins, and what browsers are told."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import aiohttp
import pytest

from kubewright.cluster import Cluster
from kubewright.console import Console
from kubewright.console.server import AllowedHosts
from tests.patience import PATIENCE

SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
POLLING = "/_nicegui_ws/socket.io/?EIO=4&transport=polling"


@pytest.mark.parametrize("host", ["localhost", "localhost:8081", "127.0.0.1:1", "[::1]:80", "LOCALHOST"])
def test_loopback_is_always_known(host: str) -> None:
    assert AllowedHosts().allows(host)


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "A name of somebody else that leads here is refused.",
)
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:80",
        "",
        "localhost@evil.example",
        "localhost;x",
        "localhost:80; script-src *",
        "[::1",
        "10.0.0.1",
    ],
)
def test_other_names_are_not(host: str) -> None:
    assert not AllowedHosts(["https://console.example.com"]).allows(host)


def test_a_name_that_was_told_is_known_and_only_its_own_origin_is_ours() -> None:
    names = AllowedHosts(["https://console.example.com"])
    assert names.allows("console.example.com")
    assert names.is_secure("console.example.com")
    assert not names.is_secure("localhost:80")
    assert names.is_same_origin("https://console.example.com", "console.example.com")
    assert not names.is_same_origin("http://console.example.com", "console.example.com")
    assert not names.is_same_origin("https://console.example.com:444", "console.example.com")


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:9",
        "http://127.0.0.1:80@evil.example",
        "file://",
        "http://[",
        "",
        "http://127.0.0.1:80/path",
        "http://127.0.0.1:x",
    ],
)
def test_another_origin_is_not_ours(origin: str) -> None:
    assert not AllowedHosts().is_same_origin(origin, "127.0.0.1:80")


@pytest.fixture
async def console(cluster: Cluster) -> AsyncIterator[Console]:
    async with Console(cluster.client()) as made:
        yield made


@pytest.fixture
async def http(console: Console, console_url: str) -> AsyncIterator[aiohttp.ClientSession]:
    """A client with the cookie of somebody who is signed in."""
    jar = aiohttp.CookieJar(unsafe=True)  # which is to say: also for addresses without a name
    async with aiohttp.ClientSession(console_url, cookie_jar=jar) as session:
        async with session.get(console.invitation(), allow_redirects=False) as answer:
            assert answer.status == 303
        yield session


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "A name of somebody else that leads here is refused.",
)
async def test_a_name_that_is_not_ours_is_refused_and_says_what_to_do(http: aiohttp.ClientSession) -> None:
    async with http.get("/", headers={"Host": "evil.example:80"}) as answer:
        assert answer.status == 421
        assert "start the console with --url" in await answer.text()


async def test_a_refused_name_is_never_repeated_as_a_policy(http: aiohttp.ClientSession) -> None:
    async with http.get("/", headers={"Host": "localhost:1; script-src *"}) as answer:
        assert answer.status in (400, 421)
        assert "script-src *" not in answer.headers.get("content-security-policy", "")


async def test_probes_may_come_by_any_name(http: aiohttp.ClientSession) -> None:
    async with http.get("/healthz", headers={"Host": "10.1.2.3:8080"}) as answer:
        assert (answer.status, await answer.text()) == (200, "ok\n")


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "A page of another site can do nothing, also not by web sockets.",
)
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9"])
async def test_a_web_socket_of_another_site_is_refused_even_with_the_cookie(
    http: aiohttp.ClientSession, origin: str
) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
        await http.ws_connect(SOCKET, origin=origin)
    assert refusal.value.status == 403


async def test_a_web_socket_that_does_not_say_where_it_comes_from_is_refused(http: aiohttp.ClientSession) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
        await http.ws_connect(SOCKET)
    assert refusal.value.status == 403


async def test_our_own_web_socket_comes_through(http: aiohttp.ClientSession, console_url: str) -> None:
    async with http.ws_connect(SOCKET, origin=console_url) as socket, asyncio.timeout(PATIENCE):
        assert (await socket.receive_str()).startswith("0{")  # the handshake of socket.io


async def test_a_web_socket_without_a_session_is_refused(console_url: str) -> None:
    async with aiohttp.ClientSession(console_url) as stranger:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
            await stranger.ws_connect(SOCKET, origin=console_url)
    assert refusal.value.status == 403


async def test_polling_of_another_site_is_refused_and_nobody_else_reads_the_answer(http: aiohttp.ClientSession) -> None:
    async with http.get(POLLING, headers={"Origin": "http://evil.example"}) as answer:
        assert answer.status == 403
        assert "access-control-allow-origin" not in answer.headers
    async with http.get(POLLING, headers={"Sec-Fetch-Site": "cross-site"}) as answer:
        assert answer.status == 403


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "A page of another site can do nothing, also not by web sockets.",
)
@pytest.mark.parametrize("headers", [{}, {"Origin": "http://evil.example"}])
async def test_nothing_is_changed_by_a_request_of_another_site(
    http: aiohttp.ClientSession, headers: dict[str, str]
) -> None:
    async with http.post("/sign-out", headers=headers, allow_redirects=False) as answer:
        assert answer.status == 403
    async with http.get("/", allow_redirects=False) as answer:
        assert answer.status == 200


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "Pages cannot be framed, load nothing from elsewhere, and run only their own scripts.",
)
async def test_pages_may_not_be_framed_and_load_nothing_from_elsewhere(http: aiohttp.ClientSession) -> None:
    async with http.get("/") as answer:
        headers, body = answer.headers, await answer.text()
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["object-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["form-action"] == "'self'"
    assert policy["script-src-attr"] == "'none'"
    assert "unsafe-inline" not in policy["script-src"]
    assert not re.search(r"https?:|\*", headers["content-security-policy"])
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    nonce = re.search(r"'nonce-([\w-]+)'", policy["script-src"])
    assert nonce is not None
    scripts = re.findall(r"<script[^>]*>", body)
    assert scripts
    assert all(f'nonce="{nonce[1]}"' in script for script in scripts)


async def test_each_answer_has_a_nonce_of_its_own(http: aiohttp.ClientSession) -> None:
    policies = set()
    for _ in range(2):
        async with http.get("/") as answer:
            policies.add(answer.headers["content-security-policy"])
    assert len(policies) == 2


@pytest.mark.parametrize("header", ["X-Forwarded-Prefix", "X-Forwarded-Host"])
async def test_what_a_proxy_might_say_of_itself_is_not_believed(http: aiohttp.ClientSession, header: str) -> None:
    async with http.get("/", headers={header: "/evil.example"}) as answer:
        assert "evil.example" not in await answer.text()
