"""The versions of the scaffold.

A scaffold is what `init` and `create` write. Its templates are in `templates/`. `versions/` has one file with all
templates for each version, including the newest, so that `kubewright upgrade` knows what an earlier release wrote.
`make scaffold` adds a version. A test requires it when the templates differ from the newest version. The number is not
that of the release: most releases do not change the scaffold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

__all__ = ["CURRENT", "FIRST", "frozen_templates", "present_templates", "templates_of", "versions"]

FIRST: Final = 1
_SUFFIX: Final = ".template"
_FILE: Final = re.compile(r"(\d+)\.json")


def _folder(name: str) -> Traversable:
    return resources.files("kubewright.scaffold") / name


@cache
def versions() -> tuple[int, ...]:
    """Returns all versions, in order."""
    found = (_FILE.fullmatch(entry.name) for entry in _folder("versions").iterdir())
    return tuple(sorted(int(match[1]) for match in found if match))


def templates_of(version: int) -> Mapping[str, str]:
    """Returns the templates of a version by path, such as `project/Makefile`. An unknown version is a KeyError."""
    return present_templates() if version == CURRENT else frozen_templates(version)


@cache
def frozen_templates(version: int) -> Mapping[str, str]:
    """Returns the templates of a version from its file."""
    if version not in versions():
        raise KeyError(version)
    text = (_folder("versions") / f"{version}.json").read_text(encoding="utf-8")
    return {path: "".join(f"{line}\n" for line in lines) for path, lines in json.loads(text)["templates"].items()}


@cache
def present_templates() -> Mapping[str, str]:
    """Returns the templates in `templates/`."""
    return dict(sorted(_walk(_folder("templates"))))


def _walk(folder: Traversable, prefix: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _walk(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(_SUFFIX):
            found.append((prefix + entry.name.removesuffix(_SUFFIX), entry.read_text(encoding="utf-8")))
    return found


CURRENT: Final = max(versions())
"""The version of the scaffold that this release writes."""
