"""HTTP/1.1 on llhttp (httptools): the server that every room shares, and the headers of both directions.

`Server` calls one handler for each request and bounds everything that a client controls: bytes, time, and the number
of connections (`ServerLimits`). Webhooks, health and metrics pages and the embedded cluster are served by it.

    async def handler(request: ServerRequest) -> ServerResponse:
        body = await request.body(largest=2**20)
        return ServerResponse(200, body, [("Content-Type", "text/plain")])

    async with Server(handler, host="127.0.0.1", port=8080) as server:
        ...

Read `_connection.py` first: it is the life of one connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.http._byte_streams import ByteStream, ConnectionStream, join_streams, memory_streams
    from kubewright.http._headers import Headers, check_headers, is_same_origin
    from kubewright.http._limits import ServerLimits
    from kubewright.http._messages import (
        BodyTimeout,
        BodyTooLarge,
        DropConnection,
        MalformedBody,
        ServerRequest,
        ServerResponse,
    )
    from kubewright.http._server import Handler, Server

__all__ = [
    "BodyTimeout",
    "BodyTooLarge",
    "ByteStream",
    "ConnectionStream",
    "DropConnection",
    "Handler",
    "Headers",
    "MalformedBody",
    "Server",
    "ServerLimits",
    "ServerRequest",
    "ServerResponse",
    "check_headers",
    "is_same_origin",
    "join_streams",
    "memory_streams",
]

# On first use, because the client needs the headers alone.
__getattr__ = lazy_exports(
    __name__,
    {
        "BodyTimeout": "_messages",
        "BodyTooLarge": "_messages",
        "ByteStream": "_byte_streams",
        "ConnectionStream": "_byte_streams",
        "DropConnection": "_messages",
        "Handler": "_server",
        "Headers": "_headers",
        "MalformedBody": "_messages",
        "Server": "_server",
        "ServerLimits": "_limits",
        "ServerRequest": "_messages",
        "ServerResponse": "_messages",
        "check_headers": "_headers",
        "is_same_origin": "_headers",
        "join_streams": "_byte_streams",
        "memory_streams": "_byte_streams",
    },
)
