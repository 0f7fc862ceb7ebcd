"""Lower bounds of dependencies: none admits a known vulnerability, and each lock file has all direct dependencies."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.audit import locked_in

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


LOCKS = {"dev": ["dev"], "lowest": ["dev"], "bench": ["dev", "bench"], "fuzz": ["fuzz"]}
"""The dependency groups of each lock file, as `make lock` resolves them."""


def direct(group: str) -> Iterator[Requirement]:
    """Yields the requirements of a group, with those of the groups that it includes."""
    for one in SETTINGS["dependency-groups"][group]:
        if isinstance(one, str):
            yield Requirement(one)
        else:
            yield from direct(one["include-group"])


@pytest.mark.parametrize("name", LOCKS)
def test_lock_file_has_every_direct_dependency(name: str) -> None:
    """A dependency that is added without `make lock` would be missing where the lock file alone is installed."""
    releases = locked_in([Path(__file__).parents[2] / "requirements" / f"{name}.lock"])
    locked = {canonicalize_name(each.name): Version(each.version) for each in releases}
    wanted = [*map(Requirement, PROJECT["dependencies"]), *(one for group in LOCKS[name] for one in direct(group))]
    if name == "lowest":
        wanted += [one for extra in PROJECT["optional-dependencies"].values() for one in map(Requirement, extra)]
    missing = [
        one for one in wanted if not one.specifier.contains(locked.get(canonicalize_name(one.name), Version("0")))
    ]
    assert missing == [], "run `make lock`"
