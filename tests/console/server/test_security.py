"""SecurityMiddleware with a real server and real clients: hosts, origins, and response headers."""

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
def test_allows_loopback_hosts(host: str) -> None:
    assert AllowedHosts().allows(host)


@pytest.mark.promise(
    "Access to the console and its cost",
    "Requests for unknown host names are rejected (DNS rebinding).",
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
def test_rejects_other_hosts(host: str) -> None:
    assert not AllowedHosts(["https://console.example.com"]).allows(host)


def test_allows_configured_host_with_its_own_origin_only() -> None:
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
def test_rejects_other_origins(origin: str) -> None:
    assert not AllowedHosts().is_same_origin(origin, "127.0.0.1:80")


@pytest.fixture
async def console(cluster: Cluster) -> AsyncIterator[Console]:
    async with Console(cluster.client()) as made:
        yield made


@pytest.fixture
async def http(console: Console, console_url: str) -> AsyncIterator[aiohttp.ClientSession]:
    """A client with a valid session cookie."""
    jar = aiohttp.CookieJar(unsafe=True)  # includes addresses without a name
    async with aiohttp.ClientSession(console_url, cookie_jar=jar) as session:
        async with session.get(console.invitation(), allow_redirects=False) as answer:
            assert answer.status == 303
        yield session


@pytest.mark.promise(
    "Access to the console and its cost",
    "Requests for unknown host names are rejected (DNS rebinding).",
)
async def test_rejects_unknown_host_with_a_fix(http: aiohttp.ClientSession) -> None:
    async with http.get("/", headers={"Host": "evil.example:80"}) as answer:
        assert answer.status == 421
        assert "start the console with --url" in await answer.text()


async def test_never_echoes_rejected_host_in_the_policy(http: aiohttp.ClientSession) -> None:
    async with http.get("/", headers={"Host": "localhost:1; script-src *"}) as answer:
        assert answer.status in (400, 421)
        assert "script-src *" not in answer.headers.get("content-security-policy", "")


async def test_answers_probes_for_any_host(http: aiohttp.ClientSession) -> None:
    async with http.get("/healthz", headers={"Host": "10.1.2.3:8080"}) as answer:
        assert (answer.status, await answer.text()) == (200, "ok\n")


@pytest.mark.promise(
    "Access to the console and its cost",
    "A page of another site can do nothing, not even over WebSockets.",
)
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9"])
async def test_rejects_cross_site_websocket_with_valid_cookie(http: aiohttp.ClientSession, origin: str) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
        await http.ws_connect(SOCKET, origin=origin)
    assert refusal.value.status == 403


async def test_rejects_websocket_without_origin(http: aiohttp.ClientSession) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
        await http.ws_connect(SOCKET)
    assert refusal.value.status == 403


async def test_accepts_same_origin_websocket(http: aiohttp.ClientSession, console_url: str) -> None:
    async with http.ws_connect(SOCKET, origin=console_url) as socket, asyncio.timeout(PATIENCE):
        assert (await socket.receive_str()).startswith("0{")  # the handshake of socket.io


async def test_does_not_accept_compressed_websocket_messages(http: aiohttp.ClientSession, console_url: str) -> None:
    """A compressed message of 1 KB can have 1 MB, and the server queues all messages that arrive at the same time."""
    async with http.ws_connect(SOCKET, origin=console_url, compress=15) as socket:
        assert socket.compress == 0


async def test_rejects_websocket_without_session(console_url: str) -> None:
    async with aiohttp.ClientSession(console_url) as stranger:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
            await stranger.ws_connect(SOCKET, origin=console_url)
    assert refusal.value.status == 403


async def test_rejects_cross_site_polling_without_cors_headers(http: aiohttp.ClientSession) -> None:
    async with http.get(POLLING, headers={"Origin": "http://evil.example"}) as answer:
        assert answer.status == 403
        assert "access-control-allow-origin" not in answer.headers
    async with http.get(POLLING, headers={"Sec-Fetch-Site": "cross-site"}) as answer:
        assert answer.status == 403


@pytest.mark.promise(
    "Access to the console and its cost",
    "A page of another site can do nothing, not even over WebSockets.",
)
@pytest.mark.parametrize("headers", [{}, {"Origin": "http://evil.example"}])
async def test_rejects_cross_site_writes(http: aiohttp.ClientSession, headers: dict[str, str]) -> None:
    async with http.post("/sign-out", headers=headers, allow_redirects=False) as answer:
        assert answer.status == 403
    async with http.get("/", allow_redirects=False) as answer:
        assert answer.status == 200


@pytest.mark.promise(
    "Access to the console and its cost",
    "Pages cannot be framed, load nothing from other sites, and run only their own scripts.",
)
async def test_pages_cannot_be_framed_and_load_nothing_from_other_sites(http: aiohttp.ClientSession) -> None:
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


async def test_each_response_has_its_own_nonce(http: aiohttp.ClientSession) -> None:
    policies = set()
    for _ in range(2):
        async with http.get("/") as answer:
            policies.add(answer.headers["content-security-policy"])
    assert len(policies) == 2


@pytest.mark.parametrize("header", ["X-Forwarded-Prefix", "X-Forwarded-Host"])
async def test_ignores_forwarded_headers(http: aiohttp.ClientSession, header: str) -> None:
    async with http.get("/", headers={header: "/evil.example"}) as answer:
        assert "evil.example" not in await answer.text()
