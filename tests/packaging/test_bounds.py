"""Lower bounds of dependencies: none admits a release with a known vulnerability."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

SETTINGS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]
GROUPS = (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values(), SETTINGS["dependency-groups"]["test"])
# An extra can name others: `dev` is kubewright[test,console].
REQUIREMENTS = [found for group in GROUPS for one in group if (found := Requirement(one)).name != "kubewright"]
FIXED = {"aiohttp": "3.14.3", "cryptography": "50.0.0", "click": "8.3.3", "nicegui": "3.12.0", "pyyaml": "5.4"}
"""The first release without the advisories that docs/design/dependencies.md names."""


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda one: str(one.name))
def test_the_lower_bound_has_no_known_vulnerability(requirement: Requirement) -> None:
    lower = [Version(one.version) for one in requirement.specifier if one.operator == ">="]
    assert lower, "every dependency has a lower bound"
    assert max(lower) >= Version(FIXED.get(requirement.name.lower(), "0"))
