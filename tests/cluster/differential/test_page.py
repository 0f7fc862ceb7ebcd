"""The page about the embedded cluster tells how many scenarios there are, and how many of them are equal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from tests.yaml_files import load_yaml

CLUSTER = Path(__file__).parents[1]
PAGE = CLUSTER.parents[1] / "docs" / "embedded-cluster.md"
AREAS = {
    "applies, patches and managed fields": ("apply*", "managers", "patches", "scale"),
    "CEL rules, and what validation says": ("cel-*", "strict", "rules"),
    "admission: webhooks and policies": ("admission/*", "policy-*"),
    "conversion between versions": ("conversion/*",),
    "users, roles and tokens": ("rbac*",),
    "lists, watches and tables": ("lists", "watches", "watching", "tables"),
    "everything else": ("*",),
}


def scenarios() -> Iterator[tuple[str, list[str]]]:
    """Each file, with the names of its scenarios."""
    for folder, prefix in (("differential", ""), ("admission", "admission/"), ("conversion", "conversion/")):
        for path in (CLUSTER / folder / "scenarios").glob("*.yaml"):
            yield prefix + path.stem, [entry["name"] for entry in load_yaml(path)]


def known() -> set[str]:
    """The scenarios with a known difference."""
    found = set()
    for path in CLUSTER.glob("*/known_differences.yaml"):
        if path.parent.name not in ("clients", "judge"):  # their entries are about programs
            entries = load_yaml(path)
            found |= {entry["scenario"] for entry in (entries if isinstance(entries, list) else entries["scenarios"])}
    return found


def test_the_page_counts_right() -> None:
    counted, different = {area: [0, 0] for area in AREAS}, known()
    for file, names in scenarios():
        area = next(area for area, patterns in AREAS.items() if any(fnmatch(file, pattern) for pattern in patterns))
        counted[area][0] += len(names)
        counted[area][1] += len({*names} - different)
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \| (\d+) \|$", PAGE.read_text(), re.MULTILINE)
    assert {area: [int(all_of_them), int(equal)] for area, all_of_them, equal in rows if area in AREAS} == counted
