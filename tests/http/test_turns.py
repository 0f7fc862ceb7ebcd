"""The server spreads requests and long responses over turns of the event loop."""

from __future__ import annotations

import pytest

from kubewright.http import Server, ServerRequest, ServerResponse
from kubewright.turns import Turns
from tests.http.conftest import echo, wire
from tests.patience import until

PIECE = 256 * 1024


class Counted(Turns):
    """Counts the turns that were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.urgent: list[bool] = []

    async def next(self, *, urgent: bool = False) -> None:
        self.urgent.append(urgent)
        await super().next(urgent=urgent)


@pytest.mark.parametrize("path", ["/healthz", "/other"])
@pytest.mark.parametrize("body", [b"", b"abc"], ids=["no body", "body"])
async def test_each_request_waits_for_one_turn(path: str, body: bytes) -> None:
    turns = Counted()
    async with (
        Server(echo, turns=turns, is_urgent=lambda request: request.path == "/healthz") as server,
        wire(server) as client,
    ):
        client.send(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        if body:  # arrives after the handler has begun to wait for it
            await until(lambda: any(connection.state == "body" for connection in server.connections))
            client.send(body)
        assert (await client.response())[0] == 200
    assert turns.urgent == [path == "/healthz"]


@pytest.mark.parametrize(("size", "pieces"), [(1_000, 0), (PIECE, 1), (3 * PIECE + 1, 4)])
async def test_each_piece_of_a_long_response_waits_for_a_turn(size: int, pieces: int) -> None:
    turns = Counted()

    async def answer(request: ServerRequest) -> ServerResponse:
        return ServerResponse(200, b"x" * size)

    async with Server(answer, turns=turns) as server, wire(server) as client:
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert len((await client.response())[2]) == size
    assert len(turns.urgent) == 1 + pieces
