"""The bill of materials has every runtime dependency, and fits its lock."""

from __future__ import annotations

import tomllib
from pathlib import Path

from packaging.requirements import Requirement

from tools.audit import locked_in
from tools.sbom import bill, normal

ROOT = Path(__file__).parents[2]


def test_lists_every_declared_dependency() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    listed = {component["name"] for component in bill()["components"]}
    assert {normal(Requirement(one).name) for one in declared} <= listed


def test_lists_the_locked_versions_and_no_tool_of_development() -> None:
    listed = {component["name"]: component["version"] for component in bill()["components"]}
    locks = [
        {normal(name): version for name, version in locked_in([ROOT / "requirements" / f"{lock}.lock"])}
        for lock in ("dev", "lowest")
    ]
    assert any(listed.items() <= lock.items() for lock in locks), "this environment is from one of these locks"
    assert not {"pytest", "mypy", "nicegui"} & set(listed)


def test_is_valid_and_the_same_each_time() -> None:
    made = bill()
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    references = {component["bom-ref"] for component in [made["metadata"]["component"], *made["components"]]}
    assert len(references) == len(made["components"]) + 1
    assert {one["ref"] for one in made["dependencies"]} == references
    assert {one for node in made["dependencies"] for one in node["dependsOn"]} <= references
    assert bill() == made
