"""Streams of the Kubernetes API: WebSockets, the channels of exec and attach, and port-forwarding.

The client and the nodes that run pods share these protocols. Each is a layer on a `ByteStream`, which is an HTTP
connection after its upgrade:

- `WebSocket`: messages, with the handshake of both sides.
- `ChannelSocket`: stdin, stdout, stderr, errors and terminal sizes on one WebSocket (`v5.channel.k8s.io`).
- `SpdySession`: many streams through one WebSocket, as kubectl forwards ports (`SPDY/3.1+portforward.k8s.io`).

Everything that the other side controls is bounded: messages, frames, headers, streams, and bytes that are not read.
"""

from __future__ import annotations

from kubewright.streaming._channels import (
    CHANNEL_PROTOCOLS,
    PORT_FORWARD_PROTOCOL,
    Channel,
    ChannelSocket,
    WebSocketBytes,
    terminal_size,
)
from kubewright.streaming._spdy import SpdySession, SpdyStream
from kubewright.streaming._spdy_frames import SpdyError
from kubewright.streaming._websocket import (
    HandshakeError,
    WebSocket,
    WebSocketError,
    accept_upgrade,
    check_upgrade,
    upgrade_headers,
)

__all__ = [
    "CHANNEL_PROTOCOLS",
    "PORT_FORWARD_PROTOCOL",
    "Channel",
    "ChannelSocket",
    "HandshakeError",
    "SpdyError",
    "SpdySession",
    "SpdyStream",
    "WebSocket",
    "WebSocketBytes",
    "WebSocketError",
    "accept_upgrade",
    "check_upgrade",
    "terminal_size",
    "upgrade_headers",
]
