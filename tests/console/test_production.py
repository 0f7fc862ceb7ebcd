"""Production clusters are recognized by their names."""

from __future__ import annotations

import pytest

from kubewright.console._production import is_production  # private: a pure function


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
def test_names_with_the_word_prod_are_production(name: str, production: bool) -> None:
    assert is_production(name) is production


def test_patterns_replace_the_default() -> None:
    patterns = ["live-*", "MAIN"]
    assert [is_production(name, patterns) for name in ("Live-eu", "main", "prod", "maintenance")] == [
        *(True, True),
        *(False, False),
    ]
