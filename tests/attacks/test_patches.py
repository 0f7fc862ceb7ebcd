"""JSON Patches whose result is far larger than themselves."""

from __future__ import annotations

import pytest

from tests.attacks.conftest import Api
from tests.attacks.harness import assault
from tests.attacks.payloads import (
    copy_bomb,
)
from tests.attacks.requests import (
    JSON_PATCH,
    MAPS,
    config_map,
    refused,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_bounds_json_patch_copies(api: Api) -> None:
    await api.send("POST", MAPS, config_map("a"))

    async def attack() -> None:
        await refused(api, "PATCH", f"{MAPS}/a", copy_bomb(), JSON_PATCH, 413, 422)

    await assault(api.victim, attack)
