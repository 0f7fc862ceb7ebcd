"""Every version of the scaffold is kept, and renders today what it rendered when it was made."""

from __future__ import annotations

import json

import pytest

from kubewright.scaffold import CURRENT, FIRST, frozen_templates, present_templates, templates_of, versions
from tools.scaffold_version import FOLDER, digest

ADVICE = """the templates in src/kubewright/scaffold/templates are not those of version {}.
Run `make scaffold` to record them as a new version, or `make scaffold AMEND=1` as long as no release has had that one.
"""


def test_versions_are_counted_from_one() -> None:
    assert versions() == tuple(range(FIRST, CURRENT + 1))


@pytest.mark.promise("Projects", "Every version of the scaffold is kept, and templates do not change without one.")
def test_the_templates_are_recorded_as_the_present_version() -> None:
    assert present_templates() == frozen_templates(CURRENT), ADVICE.format(CURRENT)


@pytest.mark.promise("Projects", "Every version of the scaffold is kept, and templates do not change without one.")
@pytest.mark.parametrize("version", versions())
def test_a_version_renders_what_it_always_did(version: int) -> None:
    """Code that fills in templates is part of a scaffold: it may change for a new version alone."""
    recorded = json.loads((FOLDER / f"{version}.json").read_text())
    assert recorded["version"] == version
    assert digest(version) == recorded["digest"], ADVICE.format(version)


def test_a_version_that_there_is_not_is_reported() -> None:
    with pytest.raises(KeyError):
        templates_of(CURRENT + 1)


def test_each_version_differs_from_the_one_before() -> None:
    for version in versions()[1:]:
        assert frozen_templates(version) != frozen_templates(version - 1)
