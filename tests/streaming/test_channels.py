"""Channels on a WebSocket, and bytes through one."""

from __future__ import annotations

import pytest

from kubewright.http import memory_streams
from kubewright.streaming import Channel, ChannelSocket, WebSocket, WebSocketBytes, WebSocketError, terminal_size


def pair(protocol: str = "v5.channel.k8s.io") -> tuple[ChannelSocket, ChannelSocket]:
    one, other = memory_streams()
    return (
        ChannelSocket(WebSocket(one, is_client=True), protocol),
        ChannelSocket(WebSocket(other, is_client=False), protocol),
    )


async def test_messages_have_a_channel() -> None:
    client, server = pair()
    await client.send(Channel.STDIN, b"in")
    await server.send(Channel.STDOUT, b"")
    assert await server.receive() == (Channel.STDIN, b"in")
    assert await client.receive() == (Channel.STDOUT, b"")


async def test_large_data_is_split() -> None:
    client, server = pair()
    await client.send(Channel.STDIN, b"x" * 70_000)
    sizes = [len((await server.receive() or (0, b""))[1]) for _ in range(3)]
    assert sizes == [32768, 32768, 4464]


async def test_version_5_closes_stdin() -> None:
    client, server = pair()
    await client.close_channel(Channel.STDIN)
    assert await server.receive() == (Channel.CLOSE, b"\x00")


async def test_version_4_cannot_close_stdin() -> None:
    client, server = pair("v4.channel.k8s.io")
    assert not client.can_close
    await client.close_channel(Channel.STDIN)
    await client.send(Channel.STDIN, b"next")
    assert await server.receive() == (Channel.STDIN, b"next")


async def test_sizes_of_terminals_arrive() -> None:
    client, server = pair()
    await client.resize(120, 40)
    received = await server.receive()
    assert received is not None
    assert (received[0], terminal_size(received[1])) == (Channel.RESIZE, (120, 40))


@pytest.mark.parametrize("data", [b"", b"{}", b'{"Width":0,"Height":1}', b'{"Width":70000,"Height":1}', b"[" * 9999])
def test_malformed_sizes_are_ignored(data: bytes) -> None:
    assert terminal_size(data) is None


@pytest.mark.parametrize("message", [b"", b"\x09x"])
async def test_unknown_channels_raise(message: bytes) -> None:
    one, other = memory_streams()
    await WebSocket(one, is_client=True).send(message)
    with pytest.raises(WebSocketError, match="channel"):
        await ChannelSocket(WebSocket(other, is_client=False), "v5.channel.k8s.io").receive()


async def test_bytes_pass_without_boundaries() -> None:
    one, other = memory_streams()
    client, server = WebSocket(one, is_client=True), WebSocketBytes(WebSocket(other, is_client=False))
    await client.send(b"")
    await client.send(b"abc")
    assert await server.read() == b"abc"
    await server.write(b"y" * 40_000)
    assert [len(await client.receive() or b"") for _ in range(2)] == [32768, 7232]
