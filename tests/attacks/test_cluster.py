"""Attacks on the embedded cluster, from any account that can send a request."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.attacks.conftest import Api
from tests.attacks.harness import assault
from tests.attacks.payloads import (
    DEEP_JSON,
)
from tests.attacks.requests import (
    JSON_PATCH,
    MAPS,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    answers,
    config_map,
    refused,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("shape", DEEP_JSON)
async def test_survives_deep_json(api: Api, shape: str) -> None:
    body = DEEP_JSON[shape]
    await api.send("POST", MAPS, config_map("a"))

    async def attack() -> None:
        await refused(api, "POST", MAPS, body, "application/json", 400)
        for kind in (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH):
            await refused(api, "PATCH", f"{MAPS}/a", body, kind, 400, 422)

    await assault(api.victim, attack)


async def test_bounds_json_patch_operations(api: Api) -> None:
    await api.send("POST", MAPS, config_map("a"))
    body = json.dumps([{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10_001).encode()

    async def attack() -> None:
        await refused(api, "PATCH", f"{MAPS}/a", body, JSON_PATCH, 413)

    await assault(api.victim, attack)


async def test_survives_endless_selectors(api: Api) -> None:
    async def attack() -> None:
        for name in ("labelSelector", "fieldSelector"):
            terms = ",".join(f"k{n}=v" for n in range(800))
            status, _ = await api.send("GET", f"{MAPS}?{name}={terms}")
            assert status in (0, 200, 400, 414, 431)
            status, _ = await api.send("GET", f"{MAPS}?{name}=" + "(" * 7_000)
            assert status in (0, 400, 414, 431)

    await assault(api.victim, attack)


async def test_serves_others_while_writers_compete(api: Api) -> None:
    """100 writers of one object get conflicts or success, and a reader is answered."""
    await api.send("POST", MAPS, config_map("a"))

    async def attack() -> None:
        async def write(turn: int) -> None:
            patch = json.dumps({"data": {"turn": str(turn)}}).encode()
            status, text = await api.send("PATCH", f"{MAPS}/a", patch, MERGE_PATCH)
            assert status in answers(200, 409), text

        await asyncio.gather(*(write(turn) for turn in range(100)))

    await assault(api.victim, attack)
