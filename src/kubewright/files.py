"""Sets of files that are written together or not at all.

Everything that needs disk space happens before any change is visible: new files are staged next to their destinations,
and existing files get a second link. Renaming them needs no space, so a change can also be undone on a full disk.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path

__all__ = ["NotWritten", "remove_own", "write_all"]


class NotWritten(OSError):
    """Files could not be written, and nothing was changed. The message names the file or folder, and why."""

    def __init__(self, what: str, error: OSError) -> None:
        super().__init__(error.errno, error.strerror, error.filename)
        self._text = f"nothing was written: {what}: {error.strerror or error}"

    def __str__(self) -> str:
        return self._text


def remove_own(path: Path, written: bytes) -> None:
    """Removes a file if it still has the content that was written to it, or is empty.

    Keeps a file that another program changed.
    """
    with contextlib.suppress(OSError):
        if path.read_bytes() in (written, b""):
            path.unlink()


def write_all(folder: Path, texts: Mapping[str, str | None]) -> None:
    """Writes these contents below a folder and removes the files with None: all of them, or none.

    Creates missing folders and removes folders that become empty. A file keeps its mode; for a symbolic link, its
    target is written. Raises `NotWritten` if a file cannot be written; the folder is then unchanged.
    """
    places = {_place(folder / path): text for path, text in texts.items() if text is not None}
    gone = [folder / path for path, text in texts.items() if text is None and os.path.lexists(folder / path)]
    names = (f".kubewright-{os.getpid()}-{number}" for number in count())
    with contextlib.ExitStack() as undo:
        staged = {target: _stage(target, text, next(names), undo) for target, text in places.items()}
        kept = [_keep(target, next(names), undo) for target in (*places, *gone)]
        for target, temporary in staged.items():
            with _naming_errors(f"{target} cannot be replaced"):
                os.replace(temporary, target)
        for target in gone:
            with _naming_errors(f"{target} cannot be removed"):
                target.unlink()
        undo.pop_all()
    for second in kept:
        with contextlib.suppress(OSError):  # the change itself is complete
            second.unlink()
    for target in gone:
        _remove_empty(folder, target.parent)


def _place(path: Path) -> Path:
    return path.resolve() if path.is_symlink() else path


def _stage(target: Path, text: str, name: str, undo: contextlib.ExitStack) -> Path:
    """Stages the content in a file next to its destination. The file is removed if anything fails."""
    for missing in reversed([parent for parent in target.parents if not os.path.lexists(parent)]):
        with _naming_errors(f"the folder {missing} cannot be created"):
            missing.mkdir()
        _register_undo(undo, missing.rmdir)
    temporary = target.with_name(name)
    _register_undo(undo, temporary.unlink)
    with _naming_errors(f"{target} cannot be written"):
        temporary.write_bytes(text.encode("utf-8", errors="surrogateescape"))
        if target.exists():
            shutil.copymode(target, temporary)
    return temporary


def _keep(target: Path, name: str, undo: contextlib.ExitStack) -> Path:
    """Keeps the existing file under a second link and restores it if anything fails.

    Removes a file that did not exist.
    """
    second = target.with_name(name)
    if not os.path.lexists(target):
        _register_undo(undo, target.unlink)
        return second
    _register_undo(undo, second.unlink)  # if both links are the same file, the next line does nothing
    _register_undo(undo, lambda: os.replace(second, target))
    with _naming_errors(f"{target} cannot be backed up"):
        try:
            os.link(target, second, follow_symlinks=False)
        except OSError:  # a file system without links
            shutil.copy2(target, second, follow_symlinks=False)
    return second


@contextlib.contextmanager
def _naming_errors(what: str) -> Iterator[None]:
    """Names the file that could not be written. The system's error names a temporary file, or none."""
    try:
        yield
    except OSError as error:
        raise NotWritten(what, error) from error


def _register_undo(undo: contextlib.ExitStack, what: Callable[[], object]) -> None:
    """Registers an undo step. A step that fails must not prevent the others."""

    def attempt() -> None:
        with contextlib.suppress(OSError):
            what()

    undo.callback(attempt)


def _remove_empty(top: Path, folder: Path) -> None:
    while folder != top and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
