"""`grpc_health`: asks a program for its health with gRPC (`grpc.health.v1.Health/Check`), as a kubelet does.

One unary call is a fixed exchange of HTTP/2 frames: the request needs no compression of headers, and the answer is in
the data, so headers are not decoded. Without TLS, as by a kubelet.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import Final

__all__ = ["grpc_health", "read_grpc_message"]

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY = 0x0, 0x1, 0x3, 0x4, 0x6, 0x7
_END_STREAM, _ACK, _END_HEADERS, _PADDED = 0x1, 0x1, 0x4, 0x8
_STREAM: Final = 1
_MAX_FRAME: Final = 16_384  # the largest frame that a server may send, unless the client allows more
_MAX_FRAMES: Final = 100
_MAX_MESSAGE: Final = 4096
_STATES: Final = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")


async def grpc_health(host: str, port: int, service: str) -> tuple[bool, str]:
    """Returns whether the program says that the service is serving, and the message of a failure.

    Raises OSError if it does not accept connections, and ValueError if it does not speak gRPC.
    """
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(_request(f"{host}:{port}", service))
        message = await read_grpc_message(reader, writer.write)
    except asyncio.IncompleteReadError:
        raise ValueError("the server closed the connection before it answered") from None
    finally:
        writer.close()
    if message is None:
        return False, f"the server does not implement the gRPC health protocol for service {service!r}"
    state = _state(message)
    name = _STATES[state] if state < len(_STATES) else str(state)
    return name == "SERVING", f'service unhealthy (responded with "{name}")'


def _request(authority: str, service: str) -> bytes:
    named = service.encode()
    body = b"\x0a" + _varint(len(named)) + named if named else b""
    headers = {
        ":method": "POST",
        ":scheme": "http",
        ":path": "/grpc.health.v1.Health/Check",
        ":authority": authority,
        "content-type": "application/grpc",
        "te": "trailers",
        "user-agent": "kube-probe/1.36",
    }
    # Literals that are not indexed: each name and value is shorter than 127 bytes.
    block = b"".join(
        b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in headers.items()
    )
    message = struct.pack(">BI", 0, len(body)) + body
    return (
        _PREFACE
        + _frame(_SETTINGS, 0, 0, b"")
        + _frame(_HEADERS, _END_HEADERS, _STREAM, block)
        + _frame(_DATA, _END_STREAM, _STREAM, message)
    )


async def read_grpc_message(reader: asyncio.StreamReader, write: Callable[[bytes], None]) -> bytes | None:
    """Returns the message of the answer; None if the server answers without one. Raises ValueError."""
    received = b""
    for _ in range(_MAX_FRAMES):
        head = await reader.readexactly(9)
        length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        stream = int.from_bytes(head[5:], "big") & 0x7FFFFFFF
        if length > _MAX_FRAME:
            raise ValueError("the server does not speak gRPC: its answer is not HTTP/2")
        payload = await reader.readexactly(length)
        if kind in (_SETTINGS, _PING) and not flags & _ACK:
            write(_frame(kind, _ACK, 0, payload if kind == _PING else b""))
        elif kind == _GOAWAY or (kind == _RESET and stream == _STREAM):
            raise ValueError("the server refused the gRPC call")
        elif stream == _STREAM and kind in (_DATA, _HEADERS):
            if kind == _DATA:
                received += payload[1 : len(payload) - payload[0]] if flags & _PADDED and payload else payload
            if len(received) > _MAX_MESSAGE:
                raise ValueError("the answer of the server is too large")
            if flags & _END_STREAM:
                return _message(received)
    raise ValueError("the server sent too many frames without an answer")


def _message(received: bytes) -> bytes | None:
    if len(received) < 5:
        return None
    compressed, length = struct.unpack(">BI", received[:5])
    if compressed or len(received) < 5 + length:
        raise ValueError("the server sent an invalid gRPC message")
    return received[5 : 5 + length]


def _state(message: bytes) -> int:
    """Returns the field `status` of a HealthCheckResponse, which has no other field; 0 if it is missing."""
    if not message:
        return 0
    if len(message) < 2 or message[0] != 0x08 or message[1] > 0x7F:
        raise ValueError("the server sent an invalid HealthCheckResponse")
    return message[1]


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*made, number])
