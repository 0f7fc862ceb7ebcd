"""SPDY sessions: streams in both directions, half-closed ones, limits, and malformed frames."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.http import memory_streams
from kubewright.streaming import SpdyError, SpdySession, SpdyStream


@asynccontextmanager
async def sessions(
    accept: Callable[[SpdyStream], bool] | None, *, max_streams: int = 256
) -> AsyncIterator[tuple[SpdySession, SpdySession]]:
    one, other = memory_streams()
    client = SpdySession(one, is_client=True)
    server = SpdySession(other, is_client=False, accept=accept, max_streams=max_streams)
    running = [asyncio.ensure_future(each.run()) for each in (client, server)]
    try:
        yield client, server
    finally:
        client.close()
        server.close()
        await asyncio.gather(*running, return_exceptions=True)


class Accepted:
    """Keeps the streams that a session accepts."""

    def __init__(self) -> None:
        self.streams: list[SpdyStream] = []

    def __call__(self, stream: SpdyStream) -> bool:
        self.streams.append(stream)
        return True


async def test_opens_streams_with_headers_and_carries_both_directions() -> None:
    accepted = Accepted()
    async with sessions(accepted) as (client, _):
        opened = await client.open({"streamType": "data", "port": "8080"})
        (stream,) = accepted.streams
        assert dict(stream.headers) == {"streamtype": "data", "port": "8080"}
        await opened.write(b"question")
        await stream.write(b"x" * 100_000)
        assert await stream.read() == b"question"
        received = b""
        while len(received) < 100_000:
            received += await opened.read()
        assert received == b"x" * 100_000


async def test_compresses_the_headers_of_many_streams_with_one_state() -> None:
    accepted = Accepted()
    async with sessions(accepted) as (client, _):
        for number in range(20):
            await client.open({"requestid": str(number), "streamtype": "error"})
        assert [stream.headers["requestid"] for stream in accepted.streams] == [str(number) for number in range(20)]


async def test_closes_each_direction_separately() -> None:
    accepted = Accepted()
    async with sessions(accepted) as (client, _):
        opened = await client.open({})
        (stream,) = accepted.streams
        await opened.write(b"all of it")
        await opened.write_eof()
        assert (await stream.read(), await stream.read()) == (b"all of it", b"")
        await stream.write(b"answer")
        await stream.write_eof()
        assert (await opened.read(), await opened.read()) == (b"answer", b"")
        with pytest.raises(SpdyError, match="closed for writing"):
            await opened.write(b"more")


async def test_closing_a_stream_resets_it_at_the_other_side() -> None:
    accepted = Accepted()
    async with sessions(accepted) as (client, _):
        opened = await client.open({})
        opened.close()
        with pytest.raises(SpdyError, match="reset"):
            await accepted.streams[0].read()


async def test_refuses_streams_beyond_the_limit_and_accepts_again_after_one_ended() -> None:
    accepted = Accepted()
    async with sessions(accepted, max_streams=1) as (client, _):
        first = await client.open({})
        with pytest.raises(SpdyError, match="reset"):
            await client.open({})
        await first.write_eof()
        await accepted.streams[0].write_eof()
        assert await first.read() == b""
        await client.open({})


async def test_refuses_streams_that_the_owner_does_not_accept() -> None:
    async with sessions(None) as (client, _):
        with pytest.raises(SpdyError, match="reset"):
            await client.open({})


async def test_end_of_the_session_fails_its_streams() -> None:
    accepted = Accepted()
    async with sessions(accepted) as (client, server):
        opened = await client.open({})
        server.close()
        with pytest.raises(ConnectionError):
            await opened.read()
        with pytest.raises(ConnectionError):
            await accepted.streams[0].write(b"x")
        with pytest.raises(ConnectionError):
            await client.open({})


async def test_stream_that_is_not_read_stops_the_sender() -> None:
    accepted = Accepted()
    async with sessions(accepted) as (client, _):
        opened = await client.open({})
        sending = asyncio.ensure_future(opened.write(b"x" * 10_000_000))
        for _ in range(1000):
            await asyncio.sleep(0)
        assert not sending.done()
        total = 0
        while total < 10_000_000:
            total += len(await accepted.streams[0].read())
        await sending


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (struct.pack(">HHI", 0x8002, 1, 0), "version 2"),
        (struct.pack(">HHI", 0x8003, 1, 2**20), "exceeds"),
        (struct.pack(">HHI", 0x8003, 1, 2) + b"xx", "too short"),
        (struct.pack(">HHI", 0x8003, 99, 0), "type 99"),
        (struct.pack(">HHI", 0x8003, 1, 14) + bytes(14), "cannot be decompressed"),
    ],
)
async def test_malformed_frames_end_the_session(data: bytes, message: str) -> None:
    one, other = memory_streams()
    session = SpdySession(other, is_client=False)
    await one.write(data)
    with pytest.raises(SpdyError, match=message):
        await session.run()


async def test_repeated_stream_number_ends_the_session() -> None:
    one, other = memory_streams()
    left, right = memory_streams()
    client = SpdySession(one, is_client=True)
    session = SpdySession(right, is_client=False, accept=Accepted())
    opening = asyncio.ensure_future(client.open({}))
    frame = await other.read()
    await left.write(frame + frame)
    with pytest.raises(SpdyError):
        await session.run()
    client.close()
    with pytest.raises(SpdyError):
        await opening


@settings(max_examples=300)
@given(st.lists(st.binary(max_size=60), max_size=6))
def test_any_bytes_end_in_an_error_or_nothing(parts: list[bytes]) -> None:
    async def feed() -> None:
        one, other = memory_streams()
        session = SpdySession(other, is_client=False, accept=Accepted())
        for part in parts:
            await one.write(struct.pack(">HH", 0x8003, 1 + len(part) % 9) + part if len(part) % 2 else part)
        one.close()
        with suppress(ConnectionError):
            await session.run()

    asyncio.run(feed())
