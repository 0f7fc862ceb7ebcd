"""Clearing the server between the turns of a benchmark."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.load import _delete_all
from kubewright.client import Status, Timeout, Unavailable


class Server:
    """Gives up in the middle of a deletion, some times."""

    def __init__(self, slow: int) -> None:
        self.slow = slow
        self.asked: list[tuple[str, str]] = []

    async def request(self, method: str, path: str) -> bytes:
        self.asked.append((method, path))
        if len(self.asked) <= self.slow:
            raise Timeout(Status(code=504, message="request did not complete within the allotted timeout"))
        return b""


async def test_a_server_that_does_not_get_done_at_once_is_asked_again() -> None:
    server: Any = Server(slow=3)
    await _delete_all(server, "/foos")
    assert server.asked == [("DELETE", "/foos")] * 4


async def test_a_server_that_never_gets_done_ends_the_benchmark() -> None:
    with pytest.raises(Unavailable, match="does not get done with deleting /foos"):
        await _delete_all(Server(slow=1000), "/foos")  # type: ignore[arg-type]
