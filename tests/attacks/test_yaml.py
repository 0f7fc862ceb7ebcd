"""Deep, wide and expanding YAML, wherever we read it."""

from __future__ import annotations

import pytest

from tests.attacks.conftest import Api
from tests.attacks.harness import assault
from tests.attacks.payloads import (
    DEEP_YAML,
    WIDE_YAML,
    alias_bomb,
)
from tests.attacks.requests import (
    APPLY,
    MAPS,
    YAML,
    refused,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("shape", DEEP_YAML)
async def test_survives_deep_yaml(api: Api, shape: str) -> None:
    body = DEEP_YAML[shape]

    async def attack() -> None:
        await refused(api, "POST", MAPS, body, YAML, 400)
        await refused(api, "PATCH", f"{MAPS}/a?fieldManager=a", body, APPLY, 400)

    await assault(api.victim, attack)


async def test_survives_yaml_aliases_that_expand(api: Api) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" + alias_bomb()

    async def attack() -> None:
        await refused(api, "POST", MAPS, body, YAML, 400)
        await refused(api, "PATCH", f"{MAPS}/a?fieldManager=a", body, APPLY, 400)

    await assault(api.victim, attack)


async def test_survives_yaml_of_a_million_nodes(api: Api) -> None:
    async def attack() -> None:
        await refused(api, "POST", MAPS, WIDE_YAML, YAML, 400, 413)

    await assault(api.victim, attack)
