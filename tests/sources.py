"""The source of Kubewright for lints. Parsing all of it takes seconds, so they name a text that they look for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import kubewright

__all__ = ["PACKAGE", "parsed"]

PACKAGE = Path(kubewright.__file__).parent


def parsed(*texts: str, files: Iterable[Path] | None = None) -> Iterator[tuple[Path, ast.Module]]:
    """Yields the files that contain one of the texts, with their trees. Default: all files of the package."""
    for file in sorted(PACKAGE.rglob("*.py") if files is None else files):
        source = file.read_text(encoding="utf-8")
        if any(text in source for text in texts):
            yield file, ast.parse(source)
