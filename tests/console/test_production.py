"""Production clusters are recognized by their names."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kubewright.client import Client, ClientConfig
from kubewright.console import Console


async def is_production(name: str, patterns: Sequence[str] = ()) -> bool:
    async with Client(ClientConfig(server="http://127.0.0.1:1")) as client:
        return Console(client, production=patterns).is_production(name)


@pytest.mark.parametrize(
    ("name", "production"),
    [
        ("prod", True),
        ("kind-PROD", True),
        ("gke_shop-prod_europe-west3_main", True),
        ("arn:aws:eks:eu-west-1:1:cluster/production", True),
        ("prod2-eu", True),
        ("eu.prd", True),
        ("staging", False),
        ("preprod", False),
        ("pre-prod", False),
        ("non-prod", False),
        ("nonprod", False),
        ("product-catalog", False),
        ("", False),
    ],
)
async def test_names_with_the_word_prod_are_production(name: str, production: bool) -> None:
    assert await is_production(name) is production


async def test_patterns_replace_the_default() -> None:
    patterns = ["live-*", "MAIN"]
    assert [await is_production(name, patterns) for name in ("Live-eu", "main", "prod", "maintenance")] == [
        *(True, True),
        *(False, False),
    ]
