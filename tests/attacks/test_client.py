"""Hostile servers: our client runs in a child, the server here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Final

import pytest

from tests.attacks.harness import Victim, assault
from tests.attacks.payloads import DEEP_JSON, gzip_bomb
from tests.client.http_server import serving

MOST: Final = 300 * 2**20
"""How much a hostile server sends before it stops. Far more than the client may keep."""
HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED: Final = HEAD + b"Transfer-Encoding: chunked\r\n"


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def endless(first: bytes, piece: bytes) -> AsyncIterator[bytes]:
    yield first
    for _ in range(MOST // len(piece)):
        yield piece


def answers(name: str) -> AsyncIterator[bytes]:
    trailers = b"".join(b"X-Trailer-%d: %s\r\n" % (n, b"x" * 1_000) for n in range(64))
    packed = CHUNKED + b"Content-Encoding: gzip\r\n\r\n" + chunk(gzip_bomb(MOST)) + b"0\r\n\r\n"
    made = {
        "trailers": endless(CHUNKED + b"\r\n" + chunk(b"{}") + b"0\r\n", trailers),
        "head": endless(HEAD, b"X-Header: " + b"x" * 60_000 + b"\r\n"),
        "header without an end": endless(HEAD + b"X-Header: ", b"x" * 65_536),
        "status line": endless(b"HTTP/1.1 200 ", b"x" * 65_536),
        "interim answers": endless(b"", b"HTTP/1.1 103 Early Hints\r\nX-Header: x\r\n\r\n" * 1_000),
        "chunk extension": endless(CHUNKED + b"\r\n1;", b"x" * 65_536),
        "packed body": endless(packed, b"\r\n"),
        "body of an error": endless(b"HTTP/1.1 500 No\r\nContent-Type: application/json\r\n\r\n", b"x" * 65_536),
        "deep body": endless(HEAD + b"Connection: close\r\n\r\n" + DEEP_JSON["lists"], b"[" * 1_000_000),
    }
    return made[name]


async def errors_of(caller: Victim, verb: str, pieces: Callable[[], AsyncIterator[bytes]]) -> list[str]:
    """What our client says about a server that answers all its calls so."""
    errors: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            await reader.readuntil(b"\r\n\r\n")
            async for piece in pieces():
                writer.write(piece)
                await writer.drain()

    async with serving(answer) as url:

        async def attack() -> None:
            errors.append((await caller.ask(ask="call", url=url, verb=verb))["error"])

        await assault(caller, attack)
    return errors


ANSWERS = [
    "trailers",
    "head",
    "header without an end",
    "status line",
    "interim answers",
    "chunk extension",
    "body of an error",
    "packed body",
    "deep body",
]


@pytest.mark.parametrize("verb", ["list", "watch"])
@pytest.mark.parametrize("answer", ANSWERS)
async def test_bounds_what_a_server_sends(caller: Victim, answer: str, verb: str) -> None:
    errors = await errors_of(caller, verb, lambda: answers(answer))
    assert all(errors), "the client took an endless answer for a whole one"


async def test_bounds_the_length_of_a_watch_line(caller: Victim) -> None:
    line = b'{"type":"ADDED","object":{"metadata":{"annotations":{"a":"'
    first, piece = CHUNKED + b"\r\n" + chunk(line), chunk(b"x" * 65_536)
    errors = await errors_of(caller, "watch", lambda: endless(first, piece))
    assert all("max_watch_event_bytes" in error for error in errors), errors


async def test_names_the_limit_of_an_unpacked_body(caller: Victim) -> None:
    errors = await errors_of(caller, "list", lambda: answers("packed body"))
    assert all("max_response_bytes" in error for error in errors), errors
