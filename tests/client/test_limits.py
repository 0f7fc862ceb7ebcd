"""Limits of the client, against hostile servers on loopback.

Each server ends its answer in good order after far more than the limit: a client without the limit accepts the answer,
and the test fails instead of filling the memory.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from itertools import repeat
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from kubewright.api import core
from kubewright.client import ApiError, Client, ClientConfig, ResponseTooLarge, RetryPolicy, Unavailable
from tests.client.http_server import serving

KIB, MIB = 2**10, 2**20
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
NEVER = RetryPolicy(attempts=1)
NODE = b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}'


class Hostile:
    """Sends these blocks as the answer to each request, as far as the client takes them."""

    def __init__(self, *blocks: bytes | Iterable[bytes]) -> None:
        self.blocks = blocks
        self.requests = 0
        self.sent = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.requests += 1
        try:
            for blocks in self.blocks:
                for block in (blocks,) if isinstance(blocks, bytes) else blocks:
                    writer.write(block)
                    await writer.drain()
                    self.sent += len(block)
        except ConnectionError:
            pass  # the client has had enough


@asynccontextmanager
async def client_of(server: Hostile, *, attempts: int = 1, **config: Any) -> AsyncIterator[Client]:
    async with (
        serving(server) as address,
        Client(ClientConfig(server=address, **config), retry=RetryPolicy(attempts=attempts, first_delay=0)) as client,
    ):
        yield client


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)


def gzipped(zeros: int) -> bytes:
    body = gzip.compress(bytes(zeros))
    return b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body


# Framing


@pytest.mark.parametrize(
    ("blocks", "limit"),
    [
        ([CHUNKED, chunk(NODE), b"0\r\n", repeat(b"A: b\r\n" * 10_000, 50), b"\r\n"], "trailers and .* 65536 bytes"),
        ([CHUNKED, chunk(NODE), b"0\r\nA: ", repeat(b"b" * 64 * KIB, 50), b"\r\n\r\n"], "trailers and .* 65536 bytes"),
        (
            [CHUNKED, b"%x;a=" % len(NODE), repeat(b"b" * 64 * KIB, 50), b"\r\n%s\r\n" % NODE, END],
            "chunk extensions exceed 65536 bytes",
        ),
        (
            [CHUNKED, *[b"1;%s\r\n%c\r\n" % (b"a" * KIB, byte) for byte in NODE * 20], END],
            "chunk extensions exceed 65536 bytes",
        ),
        ([b"HTTP/1.1 200 OK\r\nA: ", repeat(b"b" * 64 * KIB, 50), b"\r\n\r\n"], "headers exceed 262144 bytes"),
        ([b"HTTP/1.1 200 ", repeat(b"b" * 64 * KIB, 50), b"\r\n\r\n"], "headers exceed 262144 bytes"),
        ([b"HTTP/1.1 200 OK\r\n", b"A: b\r\n" * 2000, b"\r\n"], "more than 1000 headers"),
        ([b"HTTP/1.1 103 Hints\r\nA: b\r\n\r\n" * 20, chunk(NODE)], r"more than 8 informational \(1xx\) responses"),
    ],
    ids=["trailers", "long-trailer", "extension", "extensions", "long-header", "long-reason", "headers", "1xx"],
)
async def test_rejects_endless_framing(blocks: list[bytes | Iterable[bytes]], limit: str) -> None:
    server = Hostile(*blocks)
    async with client_of(server) as client:
        with pytest.raises(Unavailable, match=rf"^get nodes n: the connection to \S+ broke: .*{limit}, which is"):
            await client.get(core.Node, "n")


async def test_accepts_many_small_chunks_with_short_extensions() -> None:
    server = Hostile(CHUNKED, [b"1;a\r\n%c\r\n" % byte for byte in NODE + b" " * 20_000], b"0\r\nTrailer: x\r\n\r\n")
    async with client_of(server) as client:
        assert (await client.get(core.Node, "n")).metadata.name == "n"


# Bodies


@pytest.mark.parametrize(
    "blocks",
    [
        [CHUNKED, repeat(chunk(b" " * 64 * KIB), 20), END],
        [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (2 * MIB), repeat(b" " * 64 * KIB, 32)],
        [b"HTTP/1.0 200 OK\r\n\r\n", repeat(b" " * 64 * KIB, 32)],
        [gzipped(2 * MIB)],
    ],
    ids=["chunked", "content-length", "until-close", "gzip"],
)
async def test_rejects_body_over_the_limit_without_retry(blocks: list[bytes | Iterable[bytes]]) -> None:
    server = Hostile(*blocks)
    async with client_of(server, attempts=3, max_response_bytes=MIB) as client:
        expected = (
            r"^get nodes n: the response body exceeds 1048576 bytes: .* or raise ClientConfig\.max_response_bytes$"
        )
        with pytest.raises(ResponseTooLarge, match=expected):
            await client.get(core.Node, "n")
    assert server.requests == 1


async def test_raised_limit_admits_the_body() -> None:
    body = NODE + b" " * MIB
    async with client_of(Hostile(CHUNKED, chunk(body), END), max_response_bytes=len(body)) as client:
        assert (await client.get(core.Node, "n")).metadata.name == "n"


class Endless:
    """Sends a body that grows without end, and counts how many clients have taken more of it than sockets hold."""

    def __init__(self) -> None:
        self.sent: dict[int, int] = {}
        self.most_at_once = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        with suppress(ConnectionError):
            while True:
                writer.write(b" " * 64 * KIB)
                await writer.drain()
                self.sent[id(writer)] = self.sent.get(id(writer), 0) + 64 * KIB
                self.most_at_once = max(self.most_at_once, sum(sent > 24 * MIB for sent in self.sent.values()))
        del self.sent[id(writer)]


async def get(client: Client) -> None:
    await client.get(core.Node, "n")


async def watch(client: Client) -> None:
    async for _ in client.watch(core.Node, resource_version="1"):
        pass


@pytest.mark.promise("Reading with the client", "Many large responses at the same time take the memory of a few.")
@pytest.mark.parametrize("read", [get, watch])
async def test_reads_few_large_bodies_at_the_same_time(read: Callable[[Client], Awaitable[None]]) -> None:
    server = Endless()
    async with serving(server) as address:
        config = ClientConfig(server=address, max_response_bytes=48 * MIB, max_watch_event_bytes=48 * MIB)
        client = Client(config, retry=NEVER)
        found = await asyncio.gather(*(read(client) for _ in range(12)), return_exceptions=True)
        await client.close()
    assert [type(each) for each in found] == [ResponseTooLarge] * 12
    assert server.most_at_once <= 4


async def test_default_limit_stops_a_compressed_bomb_and_other_tasks_keep_running() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with client_of(Hostile(gzipped(256 * MIB))) as client:
        counting = asyncio.create_task(count())
        with pytest.raises(ResponseTooLarge, match="exceeds 50331648 bytes"):
            await client.get(core.Node, "n")
        counting.cancel()
    assert turns > 48 * MIB // (256 * KIB)


async def test_reads_only_the_start_of_an_error_body() -> None:
    refusal = CHUNKED.replace(b"200 OK", b"400 Bad Request")
    server = Hostile(refusal, repeat(chunk(b"no! " * 16 * KIB), 800), END)
    async with client_of(server) as client:
        with pytest.raises(ApiError, match="no! no!") as caught:
            await client.get(core.Node, "n")
    assert caught.value.code == 400
    assert server.sent < 40 * MIB  # of 50


@pytest.mark.parametrize("seconds", ["²", "9" * 5000])
async def test_ignores_impossible_retry_after(seconds: str) -> None:
    server = Hostile(f"HTTP/1.1 503 Busy\r\nRetry-After: {seconds}\r\nContent-Length: 0\r\n\r\n".encode())
    async with client_of(server) as client:
        with pytest.raises(Unavailable) as caught:
            await client.get(core.Node, "n")
    assert caught.value.retry_after is None


# Lists


class Nodes:
    """Pages of nodes of 100 KiB each."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.asked: list[int] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode()
        query = parse_qs(urlsplit(target).query)
        begin, limit = int(query.get("continue", ["0"])[0]), int(query["limit"][0])
        self.asked.append(limit)
        end = min(begin + limit, self.count)
        items = [{"metadata": {"name": str(number), "labels": {"a": "b" * 100 * KIB}}} for number in range(begin, end)]
        token = str(end) if end < self.count else ""
        body = msgspec.json.encode({"metadata": {"resourceVersion": "1", "continue": token}, "items": items})
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        with suppress(ConnectionError):
            await writer.drain()


async def test_list_asks_for_smaller_pages_when_one_exceeds_the_limit() -> None:
    nodes = Nodes(20)
    async with (
        serving(nodes) as address,
        Client(ClientConfig(server=address, max_response_bytes=MIB)) as client,
    ):
        listed = [node.metadata.name async for node in client.list(core.Node, page_size=16)]
        assert listed == [str(number) for number in range(20)]
        assert nodes.asked[:2] == [16, 2]


async def test_list_fails_when_one_object_exceeds_the_limit() -> None:
    nodes = Nodes(2)
    async with (
        serving(nodes) as address,
        Client(ClientConfig(server=address, max_response_bytes=KIB)) as client,
    ):
        with pytest.raises(ResponseTooLarge, match=r"max_response_bytes"):
            await client.list(core.Node)
    assert nodes.asked == [500, 62, 7, 1]  # no attempt twice


# Streams


def unending_line(count: int) -> list[bytes | Iterable[bytes]]:
    return [CHUNKED, chunk(b'{"type":"ADDED","object":'), repeat(chunk(b" " * 64 * KIB), count), chunk(b"{}}\n"), END]


async def test_rejects_watch_event_over_the_limit() -> None:
    async with client_of(Hostile(*unending_line(64)), max_watch_event_bytes=MIB) as client:
        stream = await client.open_watch(core.Node)
        expected = (
            r"^watch nodes: an event of the watch exceeds 1048576 bytes: raise ClientConfig\.max_watch_event_bytes$"
        )
        with pytest.raises(ResponseTooLarge, match=expected):
            async for _ in stream.batches():
                pass


async def test_watch_raises_for_an_event_over_the_limit_instead_of_reconnecting() -> None:
    server = Hostile(*unending_line(64))
    async with client_of(server, max_watch_event_bytes=MIB) as client:
        with pytest.raises(ResponseTooLarge):
            async for _ in client.watch(core.Node):
                pass
    assert server.requests == 1


async def test_default_limit_of_a_watch_event_is_16_mib() -> None:
    async with client_of(Hostile(*unending_line(400))) as client:
        stream = await client.open_watch(core.Node)
        with pytest.raises(ResponseTooLarge, match="exceeds 16777216 bytes"):
            async for _ in stream.batches():
                pass


async def test_returns_endless_log_line_in_parts() -> None:
    server = Hostile(CHUNKED, chunk(b"first\nsec"), chunk(b"ond\n"), repeat(chunk(b"x" * 64 * KIB), 40), END)
    async with client_of(server) as client:
        lines = [line async for line in client.logs("web")]
    assert lines[:2] == ["first", "second"]
    assert "".join(lines[2:]) == "x" * 40 * 64 * KIB
    assert max(map(len, lines)) < 4 * MIB
    assert len(lines) > 3
