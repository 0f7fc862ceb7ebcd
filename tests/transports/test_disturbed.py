"""Transports that disturb requests."""

from __future__ import annotations

import pytest

from kubewright.client import ConnectionLost, Request, Response
from tests.transports.disturbed import Disturbed, NoServer
from tests.transports.scripted import ScriptedTransport, status_response

GET = Request(method="GET", path="/version")


async def test_forwards_requests_unless_before_responds_or_raises() -> None:
    async def refuse(_: Request) -> Response:
        return status_response(403, "Forbidden")

    seen: list[Request] = []
    server = ScriptedTransport((200, b""), (201, b""))
    disturbed = Disturbed(server, seen.append)
    assert (await disturbed.send(GET)).status == 200
    disturbed.before = refuse
    assert (await disturbed.send(GET)).status == 403
    disturbed.before = ConnectionLost("connection refused", sent=False)
    for _ in range(2):
        with pytest.raises(ConnectionLost, match="connection refused"):
            await disturbed.send(GET)
    disturbed.before = None
    assert (await disturbed.send(GET)).status == 201
    assert (seen, len(server.requests)) == ([GET], 2)
    await disturbed.close()
    assert server.closed


async def test_request_without_a_server_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="unexpected request: GET /version"):
        await Disturbed(NoServer()).send(GET)
