"""The scaffold of today and all earlier ones, each with a number of its own.

A scaffold is what `init` and `create` write. Its templates lie in `templates/`; `versions/` has one file for each
version, with all its templates, the present one included, so that `kubewright upgrade` knows what an earlier release
has written. `make scaffold` adds a version, and a test asks for it when the templates are no longer those of the last.
The number is not the package's: most releases change nothing here.
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
    """All of them, in order."""
    found = (_FILE.fullmatch(entry.name) for entry in _folder("versions").iterdir())
    return tuple(sorted(int(match[1]) for match in found if match))


def templates_of(version: int) -> Mapping[str, str]:
    """The templates of a version by path, such as `project/Makefile`. An unknown version is a KeyError."""
    return present_templates() if version == CURRENT else frozen_templates(version)


@cache
def frozen_templates(version: int) -> Mapping[str, str]:
    """The templates of a version, from its file."""
    if version not in versions():
        raise KeyError(version)
    text = (_folder("versions") / f"{version}.json").read_text(encoding="utf-8")
    return {path: "".join(f"{line}\n" for line in lines) for path, lines in json.loads(text)["templates"].items()}


@cache
def present_templates() -> Mapping[str, str]:
    """The templates that lie in `templates/`."""
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
