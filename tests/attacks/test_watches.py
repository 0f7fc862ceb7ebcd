"""Watches whose clients never read."""

from __future__ import annotations

import pytest

from tests.attacks.conftest import Api
from tests.attacks.harness import COPIES, assault
from tests.attacks.requests import (
    MAPS,
    answers,
    config_map,
)
from tests.attacks.wires import opened, trusting

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_bounds_the_memory_of_watches_that_are_never_read(api: Api) -> None:
    tls = trusting()
    token = api.victim.facts["token"]
    head = f"GET {MAPS}?watch=true HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    text = "x" * 500_000
    await api.send("POST", MAPS, config_map("big", text=text))

    async def attack() -> None:
        held = [wire for _ in range(10) if (wire := await opened(api.port, tls)) is not None]
        try:
            for wire in held:
                wire.writer.transport.pause_reading()  # type: ignore[attr-defined]
                await wire.send(head)
            for turn in range(200 if COPIES == 1 else 5):
                status, _ = await api.send("PUT", f"{MAPS}/big", config_map("big", text=f"{turn}{text}"))
                assert status in answers(200, 409)
        finally:
            for wire in held:
                wire.close()

    await assault(api.victim, attack)
