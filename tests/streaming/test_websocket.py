"""WebSockets: the handshake, messages, limits, and the ways in which they end."""

from __future__ import annotations

import asyncio
import contextlib

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.http import ByteStream, Server, ServerRequest, ServerResponse, memory_streams
from kubewright.streaming import (
    HandshakeError,
    WebSocket,
    WebSocketError,
    accept_upgrade,
    check_upgrade,
    upgrade_headers,
)

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")


def pair(limit: int = 2**20) -> tuple[WebSocket, WebSocket]:
    one, other = memory_streams()
    return WebSocket(one, is_client=True, max_message_bytes=limit), WebSocket(
        other, is_client=False, max_message_bytes=limit
    )


class TestHandshake:
    def test_agrees_on_the_first_supported_subprotocol(self) -> None:
        asked = upgrade_headers(["v4.channel.k8s.io", "v5.channel.k8s.io"])
        assert check_upgrade(asked, accept_upgrade(asked, PROTOCOLS)) == "v5.channel.k8s.io"

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"Upgrade": "SPDY/3.1"}, "plain SPDY upgrades are not"),
            ({"Upgrade": ""}, "only WebSocket is supported"),
            ({"Sec-WebSocket-Version": "8"}, "version is not 13"),
            ({"Sec-WebSocket-Key": "short"}, "Sec-WebSocket-Key"),
            ({"Sec-WebSocket-Key": "!" * 24}, "Sec-WebSocket-Key"),
            ({"Sec-WebSocket-Protocol": "chat"}, "v5.channel.k8s.io"),
        ],
    )
    def test_server_rejects(self, change: dict[str, str], message: str) -> None:
        with pytest.raises(HandshakeError, match=message):
            accept_upgrade(upgrade_headers(PROTOCOLS) | change, PROTOCOLS)

    @pytest.mark.parametrize(
        ("origin", "host"),
        [
            ("https://evil.example.com", "127.0.0.1:10250"),
            ("https://127.0.0.1:10251", "127.0.0.1:10250"),
            ("https://127.0.0.1:10250.evil.example.com", "127.0.0.1:10250"),
            ("127.0.0.1:10250", "127.0.0.1:10250"),
            ("null", "127.0.0.1:10250"),
            ("null", ""),
        ],
    )
    def test_server_rejects_pages_of_other_hosts(self, origin: str, host: str) -> None:
        with pytest.raises(HandshakeError, match="the Origin of this WebSocket request is another host") as refusal:
            accept_upgrade(upgrade_headers(PROTOCOLS) | {"Origin": origin, "Host": host}, PROTOCOLS)
        assert refusal.value.status == 403

    def test_server_accepts_pages_of_its_own_host(self) -> None:
        asked = upgrade_headers(PROTOCOLS) | {"Origin": "https://127.0.0.1:10250", "Host": "127.0.0.1:10250"}
        assert check_upgrade(asked, accept_upgrade(asked, PROTOCOLS)) == PROTOCOLS[0]

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"Upgrade": "h2c"}, "another protocol"),
            ({"Sec-WebSocket-Accept": "x"}, "key"),
            ({"Sec-WebSocket-Protocol": "chat"}, "'chat'"),
        ],
    )
    def test_client_rejects(self, change: dict[str, str], message: str) -> None:
        asked = upgrade_headers(PROTOCOLS)
        with pytest.raises(HandshakeError, match=message):
            check_upgrade(asked, accept_upgrade(asked, PROTOCOLS) | change)


class TestMessages:
    async def test_travel_in_both_directions(self) -> None:
        client, server = pair()
        await client.send(b"\x00question")
        await server.send(b"")
        assert await server.receive() == b"\x00question"
        assert await client.receive() == b""

    async def test_end_with_none_after_a_close(self) -> None:
        client, server = pair()
        await server.send(b"last")
        closing = asyncio.ensure_future(server.close())
        assert await client.receive() == b"last"
        assert await client.receive() is None
        assert await client.receive() is None
        await closing
        with pytest.raises(ConnectionError):
            await client.send(b"late")

    async def test_close_with_an_error_code_raises(self) -> None:
        client, server = pair()
        closing = asyncio.ensure_future(server.close(1011, "out of order"))
        with pytest.raises(WebSocketError, match="1011: 'out of order'"):
            await client.receive()
        await closing

    async def test_connection_that_breaks_raises(self) -> None:
        client, server = pair()
        server.abort()
        with pytest.raises(WebSocketError, match="broke without closing"):
            await client.receive()

    async def test_larger_than_the_limit_raise(self) -> None:
        one, other = memory_streams()
        client, server = WebSocket(one, is_client=True), WebSocket(other, is_client=False, max_message_bytes=10)
        await client.send(b"x" * 11)
        with pytest.raises(WebSocketError):
            await server.receive()

    async def test_fragments_count_together(self) -> None:
        one, other = memory_streams()
        server = WebSocket(other, is_client=False, max_message_bytes=10)
        mask = b"\0\0\0\0"
        await one.write(b"\x02\x88" + mask + b"12345678")
        await one.write(b"\x00\x88" + mask + b"12345678")
        with pytest.raises(WebSocketError):
            await server.receive()

    async def test_unmasked_frame_of_a_client_raises(self) -> None:
        one, other = memory_streams()
        await one.write(b"\x82\x01x")
        with pytest.raises(WebSocketError, match="protocol"):
            await WebSocket(other, is_client=False).receive()

    @settings(max_examples=200)
    @given(st.binary(max_size=300), st.booleans())
    def test_any_bytes_end_in_messages_or_an_error(self, data: bytes, is_client: bool) -> None:
        async def feed() -> None:
            one, other = memory_streams()
            socket = WebSocket(other, is_client=is_client, max_message_bytes=100)
            await one.write(data)
            one.close()
            with contextlib.suppress(ConnectionError):
                while (message := await socket.receive()) is not None:
                    assert len(message) <= 100

        asyncio.run(feed())


async def test_another_client_can_talk_to_it() -> None:
    async def echo(stream: ByteStream) -> None:
        socket = WebSocket(stream, is_client=False)
        while (message := await socket.receive()) is not None:
            await socket.send(message)
        await socket.close()

    async def handler(request: ServerRequest) -> ServerResponse:
        return ServerResponse(101, headers=[*accept_upgrade(request.headers, PROTOCOLS).items()], upgrade=echo)

    async with (
        Server(handler) as server,
        aiohttp.ClientSession() as session,
        session.ws_connect(f"http://127.0.0.1:{server.port}/", protocols=PROTOCOLS) as socket,
    ):
        assert socket.protocol == "v5.channel.k8s.io"
        for size in (0, 5, 70_000):
            await socket.send_bytes(b"x" * size)
            assert await socket.receive_bytes() == b"x" * size
        await socket.ping(b"there?")
        await socket.send_bytes(b"after the ping")
        assert await socket.receive_bytes() == b"after the ping"
