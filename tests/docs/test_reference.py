"""The pages of the reference are those of this program."""

from __future__ import annotations

import re

import pytest

from kubewright.catalog import catalog
from kubewright.cli import COMMANDS
from kubewright.operator.settings import SETTINGS
from tests.test_wire_names import EVENT_REASONS, KEYS, METRICS, METRICS_OF_WEBHOOKS
from tools import reference


@pytest.mark.parametrize("name", ["commands", "settings", "metrics", "errors"])
def test_generated_page_is_up_to_date(name: str) -> None:
    made = getattr(reference, name)()
    assert (reference.FOLDER / f"{name}.md").read_text(encoding="utf-8") == made, "run python -m tools.reference"


def page(name: str) -> str:
    return (reference.FOLDER / f"{name}.md").read_text(encoding="utf-8")


def test_pages_have_every_command_setting_metric_and_error() -> None:
    assert set(re.findall(r"^## kubewright (\S+)$", page("commands"), re.MULTILINE)) == set(COMMANDS)
    assert set(re.findall(r"^\| `(\w+)` \|", page("settings"), re.MULTILINE)) == set(SETTINGS)
    assert set(re.findall(r"^### (KW\d+):", page("errors"), re.MULTILINE)) == set(catalog())
    listed = set(re.findall(r"^\| `(\w+)` \|", page("metrics"), re.MULTILINE))
    assert listed >= METRICS
    assert {one.removesuffix("_total") for one in listed - METRICS} <= METRICS_OF_WEBHOOKS


def test_names_are_those_that_are_frozen() -> None:
    events, _, rest = page("names").partition("## Annotations")
    assert set(re.findall(r"^\| `(\w+)` \|", events, re.MULTILINE)) == EVENT_REASONS
    assert set(re.findall(r"`([a-z.]*kubewright\.dev/[\w-]+)`", rest)) == KEYS
