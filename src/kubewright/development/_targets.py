"""Finds the files of a target without importing it."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from kubewright.operator.loading import LoadError, check_file, is_file, not_found_message, split_target

__all__ = ["check_targets", "folders_of", "paths_of"]


def check_targets(targets: Sequence[str]) -> None:
    """Raises `LoadError` for a file or module that does not exist or is not Python: saving would not fix it."""
    for target in targets:
        where, _ = split_target(target)
        if is_file(where):
            check_file(Path(where))
        elif not paths_of([target]) and not _is_installed(where):
            raise LoadError(not_found_message(where))


def paths_of(targets: Sequence[str]) -> list[Path]:
    """Returns the files of targets that are files, and the files or folders of modules in the current folder."""
    found = []
    for target in targets:
        where, _ = split_target(target)
        below = Path.cwd().joinpath(*where.split("."))
        candidates = [Path(where).resolve()] if is_file(where) else [below.with_name(f"{below.name}.py"), below]
        found += [path for path in candidates if path.exists()]
    return found


def folders_of(paths: Sequence[Path]) -> list[Path]:
    """Returns the folders in which a missing module could appear: around files, and below packages."""
    found = {path.parent if path.is_file() else path for path in paths}
    for package in [path for path in paths if path.is_dir()]:
        found.update(path for path in package.rglob("*") if path.is_dir() and path.name.isidentifier())
    return sorted(path for path in found if path.name != "__pycache__")


def _is_installed(module: str) -> bool:
    top = module.partition(".")[0]
    return top.isidentifier() and importlib.util.find_spec(top) is not None
