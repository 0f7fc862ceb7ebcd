"""`Plan`: files to write, and `carry_out`, which writes all of them or none."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from kubewright.files import write_all
from kubewright.scaffold._names import ScaffoldError

__all__ = ["Done", "Plan", "carry_out", "read_text"]


@dataclass(frozen=True, slots=True)
class Plan:
    """Files by their path in the project."""

    files: dict[str, str] = field(default_factory=dict)
    """New files. An existing file with other content is an error."""
    changes: dict[str, str] = field(default_factory=dict)
    """Existing files with their new content."""
    removals: tuple[str, ...] = ()
    """Files to delete."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a plan."""

    written: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...] = ()


def carry_out(plan: Plan, folder: Path, *, force: bool = False) -> Done:
    """Writes a plan into a folder, all of it or nothing. Raises `ScaffoldError` if a file would be overwritten."""
    before = {path: read_text(folder, path) for path in (*plan.files, *plan.changes, *plan.removals)}
    different = [path for path, text in plan.files.items() if before[path] not in (None, text)]
    if different and not force:
        these = ", ".join(different)
        raise ScaffoldError(f"nothing was written: {these} would be overwritten; move it away, or use --force")
    wanted: dict[str, str | None] = {**plan.files, **plan.changes, **dict.fromkeys(plan.removals)}
    to_write = {path: text for path, text in wanted.items() if before[path] != text}
    write_all(folder, to_write)
    return Done(
        written=tuple(path for path in to_write if before[path] is None),
        changed=tuple(path for path, text in to_write.items() if None not in (before[path], text)),
        unchanged=tuple(path for path in wanted if path not in to_write and wanted[path] is not None),
        removed=tuple(path for path, text in to_write.items() if text is None),
    )


def read_text(folder: Path, path: str) -> str | None:
    """Returns the content of a file; None if it does not exist. Raises `ScaffoldError` for a file that is not text."""
    file = folder / path
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        raise ScaffoldError(f"nothing was written: {file} must be a file, but is a folder") from None
    except UnicodeDecodeError:
        raise ScaffoldError(f"nothing was written: {file} must be a UTF-8 text file") from None
    except NotADirectoryError:
        in_the_way = next(parent for parent in file.parents if parent.exists())
        raise ScaffoldError(f"nothing was written: {in_the_way} is not a folder") from None
