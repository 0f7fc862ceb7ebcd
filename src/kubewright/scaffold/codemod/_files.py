"""The Python files of a project."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["python_files"]

_SKIPPED: Final = frozenset(["__pycache__", "build", "dist", "node_modules", "site-packages"])


def python_files(folder: Path) -> Iterator[str]:
    """Yields the paths of the project's Python files, relative to its folder and with `/`, sorted.

    Hidden folders, virtual environments, build output and symbolic links are skipped.
    """
    for name, folders, files in os.walk(folder):
        current = Path(name)
        folders[:] = sorted(each for each in folders if _is_source(current / each))
        for file in sorted(files):
            path = current / file
            if file.endswith(".py") and not path.is_symlink():
                yield path.relative_to(folder).as_posix()


def _is_source(folder: Path) -> bool:
    return not folder.name.startswith(".") and folder.name not in _SKIPPED and not (folder / "pyvenv.cfg").exists()
