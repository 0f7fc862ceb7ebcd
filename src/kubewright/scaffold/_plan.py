"""`Plan`: what will be written, and `carry_out`, which writes all of it or nothing."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path

from kubewright.scaffold._names import ScaffoldError

__all__ = ["Done", "Plan", "carry_out"]


@dataclass(frozen=True, slots=True)
class Plan:
    """Files by their path in the project. `changes` are files of which the text was read, and is to be another."""

    files: dict[str, str] = field(default_factory=dict)
    changes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a plan."""

    written: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]


def carry_out(plan: Plan, folder: Path, *, force: bool = False) -> Done:
    """Write a plan into a folder, all of it or nothing. Raises `ScaffoldError` when files are in the way."""
    before = {path: _read(folder / path) for path in (*plan.files, *plan.changes)}
    different = [path for path, text in plan.files.items() if before[path] not in (None, text)]
    if different and not force:
        these = ", ".join(different)
        raise ScaffoldError(f"nothing was written: {these} would be overwritten; move it away, or use --force")
    wanted = {**plan.files, **plan.changes}
    to_write = [path for path, text in wanted.items() if before[path] != text]
    touched: list[str] = []
    made: list[Path] = []
    try:
        for path in to_write:
            made += _make_folders((folder / path).parent)
            touched.append(path)
            (folder / path).write_text(wanted[path], encoding="utf-8")
    except OSError:
        _undo(folder, touched, before, made)
        raise
    return Done(
        written=tuple(path for path in to_write if before[path] is None),
        changed=tuple(path for path in to_write if before[path] is not None),
        unchanged=tuple(path for path in wanted if before[path] == wanted[path]),
    )


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (IsADirectoryError, UnicodeDecodeError) as error:
        raise ScaffoldError(f"nothing was written: {path} is in the way ({error})") from None
    except NotADirectoryError:
        raise ScaffoldError(f"nothing was written: {path.parent} is not a folder") from None


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and those above it; those that were made, the innermost last."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        path.mkdir()
    return missing[::-1]


def _undo(folder: Path, touched: list[str], before: dict[str, str | None], made: list[Path]) -> None:
    """As far as it can be undone: what could not be written cannot be removed, either."""
    for path in touched:
        text = before[path]
        with contextlib.suppress(OSError):
            if text is None:
                (folder / path).unlink(missing_ok=True)
            else:
                (folder / path).write_text(text, encoding="utf-8")
    for empty in reversed(made):
        with contextlib.suppress(OSError):
            empty.rmdir()
